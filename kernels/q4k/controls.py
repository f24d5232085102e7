"""Negative controls of the q4_K gate alone: one deliberate defect each, and the metrics that must see it."""

from dataclasses import replace

from guardrail.families.interface import Control, Gate
from guardrail.kernels.kquants import controls

_GATES = "guardrail.kernels.q4k.faulty_gates"
_LAUNCHES = "guardrail.kernels.q4k.faulty_launches"


def of_gate(gate: Gate) -> tuple[Control[Gate], ...]:
    """State the controls of the gate and of what it leads to."""
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
            controls.executing(gate, f"{_LAUNCHES}:exposing_always_fallback"),
            ("arms_not_reached",),
        ),
        *controls.of_gate(gate, _GATES, _LAUNCHES),
    )
