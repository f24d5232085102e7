"""The environment variable that opts out of the CUDA C++ kernels."""

from collections.abc import Mapping

from guardrail.families.switches import read_switch

CUDA = "GUARDRAIL_KQUANTS_CUDA"
MEANING = "Whether CUDA C++ kernels serve where NVRTC can compile them: true, 1 or on; false, 0 or off."


def cuda_allowed(environment: Mapping[str, str]) -> bool:
    """Say whether CUDA C++ kernels may serve; they may where the variable is not set.

    Args:
        environment: Environment variables, such as ``os.environ``.

    Raises:
        ValueError: The variable is set to something else than an "on" or "off" word.
    """
    return read_switch(CUDA, default=True, environment=environment)
