"""Negative controls of q6_K alone: one deliberate defect each, and the metrics that must see it."""

from dataclasses import replace

from guardrail.families.interface import Control, Gate, Operation
from guardrail.kernels.kquants import controls

_GATES = "guardrail.kernels.q6k.faulty_gates"
_LAUNCHES = "guardrail.kernels.q6k.faulty_launches"
_SERVED_LAUNCHES = "guardrail.kernels.q6k.served_faulty_launches"


def of_operation(operation: Operation) -> tuple[Control[Operation], ...]:
    """State the controls of what the arms compute."""
    return (
        *controls.of_operation(operation, _LAUNCHES),
        Control(
            "reordered-sum",
            "v2 adds the same terms in another order than its twins",
            replace(operation, random=f"{_LAUNCHES}:random_with_v2_reordered"),
            ("differing_elements",),
        ),
        Control(
            "shifted-plane",
            "the arms of the dense split plane read its scales one block too far",
            replace(operation, random=f"{_LAUNCHES}:random_with_shifted_scales"),
            ("relative_error", "differing_elements"),
        ),
    )


def of_served_operation(operation: Operation) -> tuple[Control[Operation], ...]:
    """State the controls of what the arms compute where CUDA C++ kernels serve."""
    return (
        *controls.of_operation(operation, _SERVED_LAUNCHES),
        Control(
            "reordered-sum",
            "v2 shares a row among half as many lanes as its twins, so it adds in another order",
            replace(operation, random=f"{_SERVED_LAUNCHES}:random_with_v2_reordered"),
            ("differing_elements",),
        ),
        controls.slower(operation, "guardrail.kernels.q6k.served_trials"),
    )


def of_gate(gate: Gate, launches: str = _LAUNCHES) -> tuple[Control[Gate], ...]:
    """State the controls of the gate and of what it leads to.

    Args:
        gate: The gate as it is shipped.
        launches: Module of the faulty launchers of what it leads to.
    """
    return (
        Control(
            "no-upper-bound",
            "rows longer than v2_pf covers are sent to it",
            replace(gate, pick=f"{_GATES}:pick_without_upper_bound"),
            ("uncovered_units", "dropped_units"),
        ),
        Control(
            "never-pipelined",
            "the pipelined arms are picked for no row at all",
            replace(gate, pick=f"{_GATES}:pick_never_pipelined"),
            ("arms_never_taken",),
        ),
        Control(
            "unexplained",
            "short rows take the slower arm and no reason is stated",
            replace(gate, pick=f"{_GATES}:pick_without_reason"),
            ("unexplained_cases",),
        ),
        Control(
            "another-kernel",
            "the launcher runs the looping arm where the gate picked the pipelined one",
            controls.executing(gate, f"{launches}:exposing_always_looping"),
            ("arms_not_reached",),
        ),
        *controls.of_gate(gate, _GATES, launches),
    )


def of_served_gate(gate: Gate) -> tuple[Control[Gate], ...]:
    """State the controls of the gate over what serves on a GPU."""
    return of_gate(gate, _SERVED_LAUNCHES)
