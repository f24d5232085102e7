"""Negative controls of q6_K alone: one deliberate defect each, and the metrics that must see it."""

from dataclasses import replace

from guardrail.families.interface import Control, Gate, Operation
from guardrail.kernels.kquants import controls

_GATES = "guardrail.kernels.q6k.faulty_gates"
_LAUNCHES = "guardrail.kernels.q6k.faulty_launches"


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
        Control(
            "five-percent-more",
            "every product has 5% more rows",
            replace(operation, random="guardrail.kernels.q6k.slower_trials:MoreRows"),
            ("time", "span", "content_rate", "streamed_rate", "dram_read_fraction", "l2_read_fraction"),
        ),
    )


def of_gate(gate: Gate) -> tuple[Control[Gate], ...]:
    """State the controls of the gate and of what it leads to."""
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
            controls.executing(gate, f"{_LAUNCHES}:exposing_always_looping"),
            ("arms_not_reached",),
        ),
        *controls.of_gate(gate, _GATES, _LAUNCHES),
    )
