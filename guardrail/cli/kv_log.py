"""The command ``guardrail kv log``: what an engine's start took its memory for."""

from pathlib import Path
from typing import Annotated

import typer


def log(
    file: Annotated[Path, typer.Argument(help="Start-up log of vLLM, or a saved --json.")],
    against: Annotated[
        Path | None, typer.Option(help="Log or saved --json of another start: what took the bytes?")
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="A setting in which the two starts may differ: vllm, model, ...", metavar="NAME"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the KV budget of a start of vLLM, and explain its difference to another by component."""
    from guardrail.cli.kv_log_report import Request, print_log

    print_log(Request(file, against, tuple(ignore or ()), as_json))
