"""Negative controls of the q4_K gate alone: one deliberate defect each, and the metrics that must see it."""

from dataclasses import replace

from guardrail.families.interface import Control, Gate, Operation
from guardrail.kernels.kquants import controls

_GATES = "guardrail.kernels.q4k.faulty_gates"
_LAUNCHES = "guardrail.kernels.q4k.faulty_launches"
_SERVED_LAUNCHES = "guardrail.kernels.q4k.served_faulty_launches"


def of_served_operation(operation: Operation) -> tuple[Control[Operation], ...]:
    """State the controls of what the arms compute where CUDA C++ kernels serve."""
    return (
        *controls.of_operation(operation, _SERVED_LAUNCHES),
        controls.slower(operation, "guardrail.kernels.q4k.served_trials"),
    )


def of_served_gate(gate: Gate) -> tuple[Control[Gate], ...]:
    """State the controls of the gate over what serves on a GPU."""
    return of_gate(gate, _SERVED_LAUNCHES)


def of_gate(gate: Gate, launches: str = _LAUNCHES) -> tuple[Control[Gate], ...]:
    """State the controls of the gate and of what it leads to.

    Args:
        gate: The gate as it is shipped.
        launches: Module of the faulty launchers of what it leads to.
    """
    return (
        Control(
            "never-matvec",
            "every product takes the fallback",
            replace(gate, pick=f"{_GATES}:pick_never_matvec"),
            ("arms_never_taken",),
        ),
        Control(
            "unexplained",
            "small matrices take the fallback and no reason is stated",
            replace(gate, pick=f"{_GATES}:pick_without_reason"),
            ("unexplained_cases",),
        ),
        Control(
            "another-kernel",
            "the launcher runs the fallback whatever the gate picked",
            controls.executing(gate, f"{launches}:exposing_always_fallback"),
            ("arms_not_reached",),
        ),
        *controls.of_gate(gate, _GATES, launches),
    )
