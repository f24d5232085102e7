"""From a profiler's trace back to the calls that made it."""

from collections.abc import Sequence
from dataclasses import dataclass

from guardrail.errors import MeasurementError
from guardrail.records.launch import Launch, Trace

MARK = "guardrail_mark"
"""Symbol of the kernel that stands before every call."""
_NS_PER_US = 1000.0


@dataclass(frozen=True, slots=True)
class Call:
    """What one call did on the GPU."""

    launches: tuple[Launch, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Name what it ran, in order of start."""
        return tuple(launch.name for launch in self.launches)

    @property
    def busy_us(self) -> float:
        """Time during which any of it ran, in microseconds: kernels that overlap count once."""
        busy, reached = 0.0, float("-inf")
        for launch in self.launches:
            start = launch.start_ns or 0.0
            end = start + launch.duration_ns
            busy += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        return busy / _NS_PER_US

    @property
    def span_us(self) -> float:
        """Time from its first start to its last end, in microseconds, gaps included."""
        starts = [launch.start_ns or 0.0 for launch in self.launches]
        ends = [(launch.start_ns or 0.0) + launch.duration_ns for launch in self.launches]
        return (max(ends) - min(starts)) / _NS_PER_US


def split_calls(trace: Trace, expected: int) -> list[Call]:
    """Divide a trace at its marks.

    Args:
        trace: What a profiler recorded of calls with a mark before each.
        expected: How many calls were made.

    Returns:
        One call for each mark, in order of their start.

    Raises:
        MeasurementError: There are more or fewer marks than calls were made: the profiler lost some.
    """
    groups: list[list[Launch]] = []
    for launch in trace.launches:
        if launch.name == MARK:
            groups.append([])
        elif groups:
            groups[-1].append(launch)
    if len(groups) != expected:
        raise MeasurementError(
            f"the profiler saw {len(groups)} calls of {expected}, so that no time of this session can be "
            "given to a call; measure again with nothing else attached to CUPTI"
        )
    return [Call(tuple(group)) for group in groups]


def check_launches(what: str, calls: Sequence[Call], expected: Sequence[str]) -> None:
    """Make sure that every call ran the same kernels, the expected ones among them in order.

    Args:
        what: What was called, for the message.
        calls: Its calls.
        expected: Symbols that each must have launched.

    Raises:
        MeasurementError: A kernel is missing, or calls differ.
    """
    for call in calls:
        names = iter(call.names)
        missing = [symbol for symbol in expected if symbol not in names]
        if missing or call.names != calls[0].names:
            seen = ", ".join(call.names) or "nothing"
            wanted = ", ".join(expected if missing else calls[0].names)
            raise MeasurementError(f"{what}: a call ran {seen}, where {wanted} was expected")
