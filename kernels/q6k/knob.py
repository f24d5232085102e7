"""The environment variable that opts out of the pipelined kernel."""

from collections.abc import Mapping

from guardrail.families.switches import read_switch

PIPELINED = "GUARDRAIL_Q6K_PIPELINED"


def pipelined_allowed(environment: Mapping[str, str]) -> bool:
    """Say whether the gate may pick v2_pf; it may where the variable is not set.

    Args:
        environment: Environment variables, such as ``os.environ``.

    Raises:
        ValueError: The variable is set to something else than an "on" or "off" word.
    """
    return read_switch(PIPELINED, default=True, environment=environment)
