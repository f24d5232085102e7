"""Everything that is wrong with a user's file, reported at once."""

from collections.abc import Iterable
from dataclasses import dataclass

from guardrail.errors import ExitCode, GuardrailError


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing that is wrong, and where."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        """Format as ``file:line: message``, as compilers do."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}"


class ConfigurationError(GuardrailError):
    """One or more files of the user's are wrong."""

    exit_code = ExitCode.USAGE

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(faults, key=lambda fault: (fault.file, fault.line or 0, fault.message)))
        super().__init__("\n".join(map(str, self.faults)))
