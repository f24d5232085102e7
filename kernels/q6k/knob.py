"""The environment variable that opts out of the pipelined kernel."""

from collections.abc import Mapping

PIPELINED = "GUARDRAIL_Q6K_PIPELINED"

_SPELLINGS = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}


def pipelined_allowed(environment: Mapping[str, str]) -> bool:
    """Say whether the gate may pick v2_pf; it may where the variable is not set.

    Args:
        environment: Environment variables, such as ``os.environ``.

    Raises:
        ValueError: The variable is set to something else than one of its spellings.
    """
    text = environment.get(PIPELINED)
    if text is None:
        return True
    if text not in _SPELLINGS:
        raise ValueError(f"{PIPELINED} is {text!r}; set it to one of {', '.join(_SPELLINGS)}, or unset it")
    return _SPELLINGS[text]
