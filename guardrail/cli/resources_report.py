"""What ``guardrail resources`` reads, prints and says to the shell."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from guardrail.adapters.resource_targets import Launch, read_target
from guardrail.compiled.architectures import require_arch
from guardrail.compiled.diff import compare
from guardrail.compiled.order import badness, worst_first
from guardrail.compiled.resources import KernelResources
from guardrail.compiled.saved import comparison_to_json, join_json, to_json
from guardrail.errors import ExitCode, NothingReadError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Request:
    """One command line."""

    target: str
    arch: str | None
    kernel: str | None
    launch: Launch | None
    as_json: bool
    show_all: bool


def report_kernels(request: Request) -> ExitCode:
    """Print the kernels of the target, worst first."""
    kernels = _read(request)
    if request.as_json:
        # Each is written out while the next is read: the tool that reads takes longer.
        rows = sorted((badness(kernel), to_json(kernel)) for kernel in kernels)
        sys.stdout.writelines((join_json(text for _, text in rows), "\n"))
        return ExitCode.OK
    from guardrail.compiled import table

    table.print_kernels(worst_first(kernels), _console(), None if request.show_all else table.ROWS)
    return ExitCode.OK


def report_comparison(request: Request, old: str) -> ExitCode:
    """Print what changed since the older target.

    Returns:
        FAILED where a kernel gained registers, stack or spills, or lost a block per SM.

    Raises:
        NothingReadError: The two have no kernel in common.
    """
    comparison = compare(old=_read(replace(request, target=old)), new=_read(request))
    if not comparison.paired:
        raise NothingReadError(
            f"{request.target} and {old} have no kernel in common, by name and architecture"
        )
    if request.as_json:
        sys.stdout.writelines((comparison_to_json(comparison), "\n"))
    else:
        from guardrail.compiled import table

        table.print_comparison(comparison, _console(), None if request.show_all else table.ROWS)
    return ExitCode.FAILED if comparison.worse else ExitCode.OK


def _read(request: Request) -> Iterator[KernelResources]:
    if request.arch is not None:
        require_arch(request.arch)
    pattern = _pattern(request.kernel)
    found = False
    for kernel in read_target(request.target, request.arch, request.launch):
        if pattern.search(kernel.name):
            found = True
            yield kernel
    if not found:
        raise NothingReadError(f"{request.target}: no kernel's name matches {request.kernel!r}")


def _pattern(kernel: str | None) -> "re.Pattern[str]":
    try:
        return re.compile(kernel or "")
    except re.error as error:
        raise UsageError(f"--kernel {kernel!r} is not a regular expression: {error}") from None


def _console() -> "Console":
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=max(_PIPE_WIDTH, console.width))
