"""Arms of a small operation to compare, and windows of made-up times."""

from collections.abc import Iterator, Sequence

from guardrail.ab.subjects import SubjectPlan
from guardrail.adapters.subject_arms import SubjectArm, TimedWindow
from guardrail.families import Operation
from guardrail.probes.timing_session import Place, Window
from helpers.timing import OPERATION

SUBJECT = "copying.copy"


def arm(name: str, operation: Operation = OPERATION, case: str = "small") -> SubjectArm:
    """Name an arm on a timed case."""
    return SubjectArm(SUBJECT, operation, name, case, operation.timed_cases[case])


def timed_window(times: Sequence[float], number: int = 0, spoilers: tuple[str, ...] = ()) -> TimedWindow:
    """Make a window of one place for each time, with spans half a microsecond longer."""
    places = tuple(Place("small", "", "", (f"kernel_{at}",), 32 + at, 0) for at in range(len(times)))
    window = Window({}, tuple(times), tuple(time + 0.5 for time in times))
    return TimedWindow(number % 2 == 1, places, window, spoilers, seed=7, seconds=0.25)


def repeated(times: Sequence[float], most: int = 1000) -> Iterator[TimedWindow]:
    """Give the same window again and again, the order of its arms alternating."""
    for number in range(most):
        yield timed_window(times, number)


def plan(**changes: object) -> SubjectPlan:
    """Plan a comparison of the short arm with the padded one."""
    stated: dict[str, object] = {"a": arm("short"), "b": arm("padded"), "metric": "cold_time"}
    return SubjectPlan(**(stated | changes))  # type: ignore[arg-type]
