"""The command ``guardrail resources``: what compiled kernels take of a GPU, without one."""

import gc
from typing import Annotated

import typer


def resources(
    target: Annotated[
        str, typer.Argument(help="Kernel, Triton cache folder, .cu file, cubin or ELF library.")
    ],
    arch: Annotated[str | None, typer.Option(help="Compile for, or show only, this one: sm_90.")] = None,
    kernel: Annotated[str | None, typer.Option(help="Only names that this regular expression finds.")] = None,
    diff: Annotated[
        str | None, typer.Option(help="Older target, or a saved --json, to compare with.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, max=1024, help="Threads of a block.")] = None,
    dynamic_shared: Annotated[
        int | None,
        typer.Option(min=0, help="Bytes of dynamic shared memory of a block, 0 by default; with --threads."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One object for each kernel.")] = False,
    show_all: Annotated[bool, typer.Option("--all", help="Every row, not the worst 50.")] = False,
) -> None:
    """Show registers, stack, spills, shared memory and blocks per SM of compiled kernels, worst first."""
    from guardrail.adapters.resource_targets import Launch
    from guardrail.cli.resources_report import Request, report_comparison, report_kernels
    from guardrail.errors import UsageError

    if threads is None and dynamic_shared is not None:
        raise UsageError(
            "--dynamic-shared goes with --threads only, for kernels that come without a launch size"
        )
    gc.disable()  # every record lives to the end: looking for garbage among tens of thousands finds none
    launch = None if threads is None else Launch(threads, dynamic_shared or 0)
    request = Request(target, arch, kernel, launch, as_json=as_json, show_all=show_all)
    code = report_kernels(request) if diff is None else report_comparison(request, diff)
    raise typer.Exit(code)
