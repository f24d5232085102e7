"""A rate held against what the device's memory can deliver."""

from dataclasses import replace

from guardrail.records.measurement import Finding, Measurement, Unmeasured
from guardrail.spec.profiles import DeviceProfile

RATE = "/s"
"""How the unit of a rate ends."""


def believable(
    found: Measurement | Unmeasured, bytes_each: int | None, device: DeviceProfile | None
) -> Measurement | Unmeasured:
    """Refuse a rate that would take more than the memory's theoretical rate.

    Args:
        found: A rate; its unit ends with ``/s``.
        bytes_each: Bytes that each of what is counted reads from memory; None where nothing was stated.
        device: The profile of this machine's GPU; None where there is none.

    Returns:
        What was found, with the memory rate that it takes among its findings; or why it cannot be.
    """
    if bytes_each is None or not isinstance(found, Measurement) or found.value is None:
        return found
    if not found.unit.endswith(RATE):
        return Unmeasured(f"{found.metric}: 'bytes_each' goes with a rate, and its unit is {found.unit}")
    if device is None:
        told = f"{bytes_each:,} bytes each were not held against a memory rate: no profile is of this GPU"
        return replace(found, findings=(*found.findings, Finding(told)))
    taken, peak = found.value * bytes_each, device.dram_bytes_per_second
    rates = f"{found.value:.6g} {found.unit} of {bytes_each:,} bytes each take {taken:.3g} B/s"
    if taken > peak:
        return Unmeasured(
            f"{found.metric}: {rates}, and the memory of {device.name} delivers {peak:.3g} at most: "
            "the work was not done, or less of it than 'bytes_each' says"
        )
    share = Finding(f"{rates}, {taken / peak:.0%} of what the memory of {device.name} delivers at most")
    return replace(found, findings=(*found.findings, share))
