"""Who shares the compile caches of repeated runs."""

from enum import StrEnum


class Cache(StrEnum):
    """Who shares a compile cache."""

    SHARED = "shared"
    """All runs use the user's own."""
    ARM = "arm"
    """Each arm has one of its own, empty at the start and warm after its warm-up."""
    FRESH = "fresh"
    """Each run has one of its own, empty, and compiles everything again."""
