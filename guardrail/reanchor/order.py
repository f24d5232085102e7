"""What a user asks of a re-anchoring."""

from dataclasses import dataclass

from guardrail.reanchor.prediction import Prediction


@dataclass(frozen=True, slots=True)
class Order:
    """How anchors are to be moved, and why."""

    anchor_class: str
    reason: str
    ref: str | None = None
    predicted: Prediction | None = None
    slack: str | None = None
    """Another slack; None to leave it as it is."""
    metric: str | None = None
    """The only metric to move, where a guard has several with a slack."""
    profile: str | None = None
    """The only profile to move, where a guard is measured for several."""
    against: str | None = None
    """Revision or command that the windows are interleaved with."""
