"""Switches read from the environment."""

import os
from collections.abc import Mapping

MULTI_QUERY = "GUARDRAIL_INT4_MULTI_QUERY"

_ON = frozenset({"1", "true", "on"})
_OFF = frozenset({"0", "false", "off"})


def switch(name: str, default: bool, environment: Mapping[str, str] = os.environ) -> bool:
    """Read a switch.

    Args:
        name: Environment variable.
        default: Its value where it is not set.
        environment: Where to look.

    Raises:
        ValueError: The value is neither an "on" nor an "off" word.
    """
    value = environment.get(name)
    if value is None:
        return default
    word = value.strip().lower()
    if word in _ON:
        return True
    if word in _OFF:
        return False
    raise ValueError(f"{name}={value!r}: expected true, 1 or on, or false, 0 or off")
