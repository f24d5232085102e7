"""A small operation to time, and sessions of made-up windows."""

from collections.abc import Sequence

from guardrail.families import Arm, Case, Operation, Work
from guardrail.probes.timing_session import Place, Session, TimingPlan, Window

HERE = "helpers.timing"
CONFIDENCE = 0.95


def units(case: Case) -> int:
    """Count the elements."""
    return int(case["elements"])


def first_thousand(case: Case) -> int:
    """Count what an arm covers that stops after a thousand elements."""
    return min(units(case), 1000)


def work(case: Case, arm: str) -> Work:
    """Declare ten bytes an element, twelve in the padded arm."""
    elements = units(case)
    return Work(10 * elements, (12 if arm == "padded" else 10) * elements, 2 * elements)


OPERATION = Operation(
    name="copy",
    work_unit="element",
    arms=(
        Arm("short", launches=("copy_short",), covered_units=f"{HERE}:first_thousand"),
        Arm("padded", launches=("copy_padded",), covered_units=f"{HERE}:units"),
    ),
    units=f"{HERE}:units",
    exposing=None,
    random=f"{HERE}:unused",
    timed_cases={"small": {"elements": 1000}, "large": {"elements": 100_000}},
    work=f"{HERE}:work",
)


def plan(**changes: object) -> TimingPlan:
    """Make a plan for the padded arm on the large case."""
    stated: dict[str, object] = {
        "operation": OPERATION,
        "cases": {"large": {"elements": 100_000}},
        "arms": {"large": ("padded",)},
        "caches": ("cold",),
        "rates": ("dram_read",),
        "captured": False,
        "calls": 3,
        "relative_error": 1e-3,
        "confidence": CONFIDENCE,
        "budget_seconds": 10.0,
    }
    return TimingPlan(**(stated | changes))  # type: ignore[arg-type]


def place(arm: str = "padded", cache: str = "cold", **changes: object) -> Place:
    """Make a place with the work of the large case."""
    stated: dict[str, object] = {
        "launches": ("copy_padded",),
        "registers": 40,
        "shared_bytes": 0,
        "work": Work(1_000_000, 1_200_000, 200_000),
    }
    return Place("large", arm, cache, **(stated | changes))  # type: ignore[arg-type]


def windows(times_us: Sequence[float], rate: float = 4e12) -> tuple[Window, ...]:
    """Make windows of one place each, with a span half a microsecond longer."""
    return tuple(Window({"dram_read": rate}, (time,), (time + 0.5,)) for time in times_us)


def session(times_us: Sequence[float], rate: float = 4e12, discarded: tuple[str, ...] = ()) -> Session:
    """Make a session of one place."""
    return Session((place(),), windows(times_us, rate), discarded, CONFIDENCE, seed=7)
