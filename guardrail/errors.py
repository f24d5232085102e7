"""The errors a user can meet, each with the exit code of the command that raised it."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a guardrail command says to the shell that started it."""

    OK = 0
    """Something was checked, and all of it holds."""
    FAILED = 1
    """A guard failed."""
    USAGE = 2
    """The command line or a configuration file is wrong."""
    NOT_MEASURED = 3
    """A probe could not measure."""
    UNDECIDED = 4
    """A guard is undecided, and nothing is worse."""
    NOTHING_CHECKED = 5
    """Nothing was checked."""


class GuardrailError(Exception):
    """A fault with a message for the user; the command line prints it without a traceback."""

    exit_code: ExitCode = ExitCode.NOT_MEASURED


class UsageError(GuardrailError):
    """The command line asks for something that cannot be."""

    exit_code = ExitCode.USAGE


class MeasurementError(GuardrailError):
    """A probe could not measure its subject."""

    exit_code = ExitCode.NOT_MEASURED


class UndecidedError(GuardrailError):
    """What was measured was too little or too spoilt to decide anything."""

    exit_code = ExitCode.UNDECIDED


class ToolMissingError(MeasurementError):
    """A tool or library that a measurement needs is not installed.

    Args:
        tool: The name of what is missing.
        purpose: What it is needed for, as the end of "needed to ...".
        remedy: The command or step that provides it.
    """

    def __init__(self, tool: str, purpose: str, remedy: str) -> None:
        super().__init__(f"{tool} is not installed; it is needed to {purpose}. {remedy}")
        self.tool = tool
        self.purpose = purpose
        self.remedy = remedy


class NothingReadError(GuardrailError):
    """The subject holds no kernel, so nothing was checked."""

    exit_code = ExitCode.NOTHING_CHECKED
