"""Switches that families read from the environment."""

import os
from collections.abc import Mapping

_WORDS = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}


def read_switch(name: str, default: bool, environment: Mapping[str, str] = os.environ) -> bool:
    """Read a switch.

    Args:
        name: Environment variable.
        default: Its value where it is not set.
        environment: Where to look.

    Raises:
        ValueError: The value is neither an "on" nor an "off" word: a misspelt one must not count as off.
    """
    value = environment.get(name)
    if value is None:
        return default
    if value not in _WORDS:
        raise ValueError(f"{name} is {value!r}; set it to one of {', '.join(_WORDS)}, or unset it")
    return _WORDS[value]
