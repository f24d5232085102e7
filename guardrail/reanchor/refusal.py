"""The refusal to move an anchor."""

from collections.abc import Sequence

from guardrail.errors import ExitCode, GuardrailError


class RefusedError(GuardrailError):
    """An anchor may not be moved.

    Args:
        faults: A sentence for each reason, with what would make it acceptable.
    """

    exit_code = ExitCode.FAILED

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(dict.fromkeys(faults))
        super().__init__("\n  - ".join(["no anchor is moved:", *self.faults]))
