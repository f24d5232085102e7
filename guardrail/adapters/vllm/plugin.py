"""What vLLM calls in each of its processes: register guardrail's backend, or say why stock runs."""

import os
from collections.abc import Mapping

from guardrail.adapters.vllm import releases
from guardrail.adapters.vllm.census_file import CENSUS
from guardrail.families.switches import read_switch

SWITCH = "GUARDRAIL_VLLM"
BACKEND = "guardrail.adapters.vllm.backend.GuardrailBackend"


def register() -> None:
    """Register the backend over vLLM's TRITON_ATTN, in every process and as often as vLLM asks.

    Raises:
        ValueError: The switch is neither on nor off.
    """
    import vllm
    from vllm.logger import init_logger
    from vllm.platforms import current_platform
    from vllm.v1.attention.backends.registry import AttentionBackendEnum, register_backend

    logger = init_logger("vllm.guardrail")
    obstacle = obstacle_to(vllm.__version__, current_platform.is_cuda(), os.environ)
    if obstacle is None:
        register_backend(AttentionBackendEnum.TRITON_ATTN, BACKEND)
        return
    logger.warning("guardrail leaves int4 attention to vLLM: %s", obstacle)
    if path := os.environ.get(CENSUS):
        logger.warning("guardrail writes no census: %s would be that of an earlier run, if it exists", path)


def obstacle_to(version: str, cuda: bool, environment: Mapping[str, str]) -> str | None:
    """Say why the plug-in must stay out.

    Args:
        version: vLLM's.
        cuda: Whether vLLM runs on an NVIDIA GPU.
        environment: Where the switch is looked up.

    Returns:
        The reason; None where there is none.

    Raises:
        ValueError: The switch is neither on nor off.
    """
    if not read_switch(SWITCH, default=True, environment=environment):
        return f"{SWITCH} is off"
    if not cuda:
        return "the kernels are for NVIDIA GPUs"
    if not releases.supports(version):
        return (
            f"it was tested on vLLM {releases.OLDEST} to {releases.NEWEST}, and this is {version}; a later "
            "guardrail may know it"
        )
    return None
