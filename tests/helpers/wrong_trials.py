"""Trials that a timing session must refuse."""

from guardrail.kernels.int4_attention.served_trials import ServedAttention


class ScaledAttention(ServedAttention):  # type: ignore[misc]
    """Attention whose outputs come out 1% too large."""

    def launch(self, arm: str) -> None:
        """See the class."""
        super().launch(arm)
        self.outputs[0].mul_(1.01)


class AnotherArm(ServedAttention):  # type: ignore[misc]
    """Attention whose segmented arm runs the other one."""

    def launch(self, arm: str) -> None:
        """See the class."""
        super().launch("2d")
