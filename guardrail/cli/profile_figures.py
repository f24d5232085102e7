"""Figures of a profile as short texts, and what follows from a launch for an architecture."""

from dataclasses import dataclass

from guardrail.compiled.architectures import find_limits
from guardrail.compiled.names import elide_middle, shorten
from guardrail.compiled.occupancy import Occupancy, occupancy
from guardrail.records.launch import Dimensions, WorkKind
from guardrail.spec.profiles import DeviceProfile
from guardrail.traces.summary import Row

UNKNOWN = "-"
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
_RATES = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"))
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_KIB = 1024
_NCU_ANONYMOUS = "<unnamed>::"
_FIGURES = 3
_ROUNDING = 0.5
"""Nanoseconds; a time is not written as a thousand of a unit."""


@dataclass(frozen=True, slots=True)
class Target:
    """The GPU that blocks per SM and shares of rates are computed for."""

    arch: str | None
    device: DeviceProfile | None = None


def duration(nanoseconds: float | None) -> str:
    """Write a time in the unit that fits: ``174.85 µs``."""
    if nanoseconds is None:
        return UNKNOWN
    for factor, unit in _TIMES:
        if abs(nanoseconds) >= factor - _ROUNDING:
            return f"{nanoseconds / factor:,.2f} {unit}"
    return f"{nanoseconds:.0f} ns"


def percent(fraction: float | None) -> str:
    """Write a fraction in percent with one decimal."""
    return UNKNOWN if fraction is None else f"{fraction:.1%}"


def size(count: float) -> str:
    """Write bytes in decimal units, as rates are stated."""
    return _scaled(count, _SIZES, "B")


def rate(bytes_per_second: float) -> str:
    """Write a rate of bytes."""
    return _scaled(bytes_per_second, _RATES, "B/s")


def printable(text: str) -> str:
    """Show characters that would move a terminal's cursor by their codes."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def short_name(row: Row, width: int) -> str:
    """Fit a row's name into a column, what tells kernels apart kept."""
    name = printable(row.name).replace(_NCU_ANONYMOUS, "")
    return shorten(name, width) if row.kind is WorkKind.KERNEL else elide_middle(name, width)


def residency(row: Row, target: Target) -> Occupancy | None:
    """Compute the blocks that fit an SM; None where launch or architecture are not known."""
    limits = find_limits(target.arch) if target.arch else None
    if limits is None or row.block is None or row.registers is None or row.shared_bytes is None:
        return None
    x, y, z = row.block
    return occupancy(limits, threads=x * y * z, registers=row.registers, shared_bytes=row.shared_bytes)


def details(row: Row, target: Target) -> list[str]:
    """List what is known of a row's launches beside their times."""
    found = [] if row.kind else [f"{row.kernels} {'name' if row.kernels == 1 else 'names'}"]
    if row.grid is not None:
        found.append(f"grid {dimensions(row.grid)}")
    if row.block is not None:
        found.append(f"block {dimensions(row.block)}")
    if row.kind is WorkKind.KERNEL and row.launch_shapes > 1:
        found.append(f"{row.launch_shapes} launch shapes")
    if row.registers is not None:
        found.append(f"{row.registers} regs")
    if row.shared_bytes is not None:
        found.append(f"{_shared(row.shared_bytes)} shared")
    if (resident := residency(row, target)) is not None:
        blocks = "block" if resident.blocks_per_sm == 1 else "blocks"
        found.append(f"{resident.blocks_per_sm} {blocks}/SM ({resident.limited_by})")
    if row.moved_bytes is not None and row.bytes_per_second is not None:
        found.append(f"{size(row.moved_bytes)} {row.moved}, {_rate_of(row, target)}")
    return found


def dimensions(value: Dimensions) -> str:
    """Write a grid or block without its trailing ones: ``2x66``."""
    axes = list(value)
    while len(axes) > 1 and axes[-1] == 1:
        axes.pop()
    return "x".join(map(str, axes))


def _rate_of(row: Row, target: Target) -> str:
    text = rate(row.bytes_per_second or 0.0)
    if target.device is None or not row.moved.startswith("DRAM"):
        return text
    share = (row.bytes_per_second or 0.0) / target.device.dram_bytes_per_second
    impossible = ": more than it can, so another device or a wrong count" if share > 1 else ""
    return f"{text} ({share:.0%} of {target.device.name}'s peak{impossible})"


def _shared(count: int) -> str:
    return f"{count / _KIB:.1f} KiB" if count >= _KIB else f"{count} B"


def _scaled(value: float, units: tuple[tuple[float, str], ...], smallest: str) -> str:
    for factor, unit in units:
        if abs(value) >= factor:
            scaled = value / factor
            return f"{scaled:,.{max(0, _FIGURES - len(str(int(scaled))))}f} {unit}"
    return f"{value:.0f} {smallest}"
