"""Compile caches that repeated runs of several arms use, apart from the user's own."""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from guardrail.records.cache import Cache

CACHE_VARIABLES = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "VLLM_CACHE_ROOT")
"""Where Triton, torch.compile and vLLM keep what they have compiled."""


class Caches:
    """Hands out compile caches; they vanish with the block that `opened` begins.

    Args:
        kind: Who shares one.
        folder: Where private ones are made.
    """

    def __init__(self, kind: Cache, folder: Path) -> None:
        self._kind = kind
        self._folder = folder
        self._count = 0

    @classmethod
    @contextlib.contextmanager
    def opened(cls, kind: Cache) -> Iterator["Caches"]:
        """Hand out caches of a kind until the block ends."""
        with tempfile.TemporaryDirectory(prefix="guardrail-ab-", ignore_cleanup_errors=True) as folder:
            yield cls(kind, Path(folder))

    def variables(self, side: str) -> Mapping[str, str]:
        """Give the environment variables for the next run of an arm.

        Args:
            side: The arm.
        """
        if self._kind is Cache.SHARED:
            return {}
        self._count += 1
        name = side if self._kind is Cache.ARM else f"{side}-{self._count}"
        folders = {variable: self._folder / name / variable.lower() for variable in CACHE_VARIABLES}
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
        return {variable: str(folder) for variable, folder in folders.items()}
