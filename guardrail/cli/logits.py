"""``guardrail logits``: dump the logits of an engine's first step, and compare dumps."""

from pathlib import Path
from typing import Annotated

import typer

from guardrail.cli.options import DEFAULT_GUARDS, GuardsFile
from guardrail.cli.paired_options import PairedOptions
from guardrail.logits.classes import FACTOR
from guardrail.logits.difference import TOP

logits_app = typer.Typer(
    no_args_is_help=True, help="Dump the logits of an engine's first step, and compare dumps."
)

Vocabulary = Annotated[int | None, typer.Option(min=1, help="Logits of a row in a raw .f32 file.")]
Shape = Annotated[str | None, typer.Option(help="Shape of logits in a raw .f32 file: 1,152064.")]
Tensor = Annotated[str | None, typer.Option(help="The tensor that holds the logits.", metavar="NAME")]
Factor = Annotated[
    float | None,
    typer.Option(
        min=1.0, help="How many times what is known to be harmless still is.", show_default=f"{FACTOR:g}"
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(help="Draw the delta by vocabulary index: FILE.svg or FILE.html.", metavar="FILE"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@logits_app.command()
def dump(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="FILE.safetensors to write.", metavar="FILE")
    ],
    engine: Annotated[
        str | None, typer.Argument(metavar="[ENGINE]", help="Decode engine of a family: reference_decode.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model profile whose geometry the engine has.")] = None,
    arm: Annotated[str | None, typer.Option(help="Arm to force: v1, or reference.")] = None,
    mode: Annotated[str | None, typer.Option(help="eager or captured; captured on a GPU.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Sequences; one for each prompt.")] = None,
    prompt_ids: Annotated[
        list[str] | None, typer.Option(help="Token ids of a sequence: 1,2,3. Repeat for a batch.")
    ] = None,
    prompt_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens of each drawn prompt.", show_default="4")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of random weights and drawn prompts.", show_default="0")
    ] = None,
    weights: Annotated[Path | None, typer.Option(help="GGUF file in place of random weights.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Setting of the engine: block_units=32.", metavar="NAME=VALUE")
    ] = None,
    hf: Annotated[
        Path | None, typer.Option(help="Folder of a Hugging Face causal model.", metavar="FOLDER")
    ] = None,
    vllm: Annotated[
        Path | None, typer.Option(help="Description of a vLLM engine.", metavar="ENGINE.yaml")
    ] = None,
    query_tokens: Annotated[
        int | None,
        typer.Option(min=2, help="Tokens of the step that --vllm dumps; the whole prompt without."),
    ] = None,
    command: Annotated[str | None, typer.Option(help="Command that leaves a dump in --folder.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Folder that --command writes to.")] = None,
    shape: Shape = None,
    vocabulary: Vocabulary = None,
    tensor: Tensor = None,
    step: Annotated[
        int | None,
        typer.Option(min=0, help="Step that --command dumps; 0 ends the prompt.", show_default="0"),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which --command is killed.", show_default="600.0")
    ] = None,
    guards_file: GuardsFile = DEFAULT_GUARDS,
) -> None:
    """Write the logits of the first step, with whose they are, to a safetensors file."""
    from guardrail.cli.logits_dump import DumpWords, write_source

    write_source(
        DumpWords(
            output=output,
            engine=engine,
            hf=hf,
            vllm=vllm,
            query_tokens=query_tokens,
            command=command,
            model=model,
            arm=arm,
            mode=mode,
            batch=batch,
            prompt_ids=tuple(prompt_ids or ()),
            prompt_tokens=prompt_tokens,
            seed=seed,
            weights=weights,
            settings=tuple(option or ()),
            folder=folder,
            shape=shape,
            vocabulary=vocabulary,
            tensor=tensor,
            step=step,
            timeout=timeout,
            guards_file=guards_file,
        )
    )


@logits_app.command(cls=PairedOptions)
def compare(
    one: Annotated[Path, typer.Argument(metavar="A", help="Dump that is trusted.")],
    other: Annotated[Path, typer.Argument(metavar="B", help="Dump in question.")],
    class_from: Annotated[
        list[str] | None,
        typer.Option(
            help="Dumps of two right engines, whose difference is rounding; once for each pair.",
            metavar="REF_A REF_B",
        ),
    ] = None,
    factor: Factor = None,
    top: Annotated[int, typer.Option(min=1, help="Likeliest tokens to compare.")] = TOP,
    shape: Shape = None,
    vocabulary: Vocabulary = None,
    tensor: Tensor = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compare two dumps, and say whether they differ, by rounding or by more."""
    from guardrail.cli.logits_compare import Request, print_comparison

    words = class_from or []
    pairs = tuple(zip(words[::2], words[1::2], strict=True))
    code = print_comparison(Request(one, other, pairs, factor, top, shape, vocabulary, tensor, plot, as_json))
    raise typer.Exit(code)


@logits_app.command("compare-dirs")
def compare_dirs(
    pre: Annotated[Path, typer.Argument(metavar="PRE", help="Folder of the unchanged build's dumps.")],
    post: Annotated[Path, typer.Argument(metavar="POST", help="Folder of the other build's dumps.")],
    own: Annotated[
        Path | None,
        typer.Option(
            "--self", help="Second run of the unchanged build: what differs is noise.", metavar="PRE2"
        ),
    ] = None,
    factor: Factor = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compare two folders of dumps, file by file."""
    from guardrail.cli.logits_folders import print_folders

    raise typer.Exit(print_folders(pre, post, own, factor, plot, as_json))
