"""``guardrail kv``: what attention's memory costs, before an engine is started and after."""

from typing import Annotated

import typer

from guardrail.cli.kv_log import log

kv_app = typer.Typer(
    no_args_is_help=True, help="Plan the memory around a KV cache, and read what became of it."
)
kv_app.command()(log)


@kv_app.command()
def plan(
    model: Annotated[str, typer.Option(help="Model profile, config.json, or folder of one.")],
    max_num_seqs: Annotated[int, typer.Option(min=1, help="Sequences of a batch at most.")],
    max_num_batched_tokens: Annotated[int, typer.Option(min=1, help="Tokens of a batch at most.")] = 2048,
    capture_sizes: Annotated[
        str, typer.Option(help="Token counts that attention is captured at: 1,2,4,8. Eager without.")
    ] = "",
    draft_depth: Annotated[
        int | None, typer.Option(min=0, help="Tokens drafted in one step; 0 leaves the drafter out.")
    ] = None,
    layout: Annotated[str, typer.Option(help="guardrail, or seed: 16 segments everywhere.")] = "guardrail",
    device: Annotated[str, typer.Option(help="Device profile to plan for.")] = "h200",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the buffers that an engine's start allocates beside the KV cache, and a cached token's bytes."""
    from guardrail.cli.kv_report import Request, print_plan

    print_plan(
        Request(
            model, max_num_seqs, max_num_batched_tokens, capture_sizes, draft_depth, layout, device, as_json
        )
    )
