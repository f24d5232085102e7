"""The releases of vLLM that the plug-in serves."""

import re

OLDEST = "0.26.0"
NEWEST = "0.33.0"


def supports(version: str) -> bool:
    """Tell whether a release lies between the oldest and the newest that guardrail was tested on."""
    release, oldest, newest = map(_release, (version, OLDEST, NEWEST))
    return oldest <= release <= newest


def _release(version: str) -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    return () if found is None else tuple(map(int, found.groups()))
