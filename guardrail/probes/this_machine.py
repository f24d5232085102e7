"""Whether a guard is for the machine that it is checked on."""

from collections.abc import Sequence

from guardrail.probes.interface import Context
from guardrail.records.measurement import Unmeasured


def present_profile(context: Context) -> str | None:
    """Name the machine's GPU by its profile, by which bounds may be keyed; None without one."""
    if context.gpu_name is None:
        return None
    names = (name for name, device in context.devices.items() if device.device_name == context.gpu_name)
    return next(names, None)


def not_for_this_machine(devices: Sequence[str], context: Context) -> Unmeasured | None:
    """Say why a guard is not for this machine, or not for the chosen profile; None where it is.

    Args:
        devices: Device profiles that the guard is for; any machine where empty.
        context: The run's surroundings.
    """
    if not devices:
        return None
    anchored = ", ".join(devices)
    if context.device and context.device.name not in devices:
        return Unmeasured(f"the guard is for {anchored}, not for {context.device.name}", skipped=True)
    if present_profile(context) not in devices:
        present = context.gpu_name or "no GPU"
        return Unmeasured(f"the guard is for {anchored}, and this machine has {present}", skipped=True)
    return None
