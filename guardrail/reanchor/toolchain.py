"""The driver and compilers behind a number, in the words that an anchor states them in."""

from guardrail.records.provenance import Provenance

_TOOLS = ("triton", "torch", "nvidia-cuda-nvrtc")


def toolchain(provenance: Provenance) -> str:
    """Name driver and compilers with their versions: ``driver 580.95.05, triton 3.7.1, torch 2.11.0``."""
    _, _, driver = (provenance.device or "").rpartition(", driver ")
    named = [f"driver {driver}"] if driver else []
    return ", ".join(
        [*named, *(f"{tool} {provenance.versions[tool]}" for tool in _TOOLS if tool in provenance.versions)]
    )
