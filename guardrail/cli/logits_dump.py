"""What ``guardrail logits dump`` runs, writes and prints."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from guardrail.adapters.logits.command_source import CommandRequest, dump_command
from guardrail.adapters.logits.dump_files import check_output, write_dump
from guardrail.adapters.logits.engine_source import EngineRequest, dump_engine, find_engine
from guardrail.adapters.logits.hf_source import dump_hf_model
from guardrail.adapters.logits.sources import Dumped
from guardrail.adapters.logits.vllm_source import dump_vllm_engine
from guardrail.cli.logits_layout import parse_layout
from guardrail.cli.table import print_line
from guardrail.errors import UsageError
from guardrail.logits.difference import nonfinite_elements
from guardrail.logits.prompts import parse_prompts

_OF_ENGINES = ("model", "arm", "mode", "batch", "prompt_tokens", "seed", "weights", "settings")
_OF_COMMANDS = ("folder", "shape", "vocabulary", "tensor", "step", "timeout")
_WRITTEN_AS = {"settings": "option"}
_PROMPT_TOKENS = 4
_SEED = 0
_TIMEOUT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class DumpWords:
    """One command line."""

    output: Path
    engine: str | None
    hf: Path | None
    vllm: Path | None
    query_tokens: int | None
    command: str | None
    model: str | None
    arm: str | None
    mode: str | None
    batch: int | None
    prompt_ids: tuple[str, ...]
    prompt_tokens: int | None
    seed: int | None
    weights: Path | None
    settings: tuple[str, ...]
    folder: Path | None
    shape: str | None
    vocabulary: int | None
    tensor: str | None
    step: int | None
    timeout: float | None
    guards_file: Path


def write_source(words: DumpWords) -> None:
    """Run the one source that is named, and write its dump.

    Raises:
        UsageError: There is no one source, an option is not its own, or the file cannot be written.
        MeasurementError: The source could not be run.
    """
    check_output(words.output)
    dumped = _run(words)
    write_dump(words.output, dumped.logits, dumped.tensors, dumped.identity)
    _report(words.output, dumped)


def _run(words: DumpWords) -> Dumped:
    sources = (words.engine, words.hf, words.vllm, words.command)
    if sum(source is not None for source in sources) != 1:
        raise UsageError(
            "expected one source: a decode engine (reference_decode), --hf FOLDER, --vllm ENGINE.yaml, "
            "or --command with --folder"
        )
    prompts = parse_prompts(words.prompt_ids)
    if words.engine is not None:
        _refuse(words, _OF_COMMANDS, f"engine {words.engine}")
        return dump_engine(_engine_request(words, words.engine, prompts))
    if words.vllm is not None:
        _refuse(words, (*_OF_ENGINES, *_OF_COMMANDS), "--vllm")
        return dump_vllm_engine(words.vllm, prompts, words.query_tokens)
    if words.query_tokens is not None:
        raise UsageError("--query-tokens goes with --vllm, whose prefix cache gives the tokens before them")
    if words.hf is not None:
        _refuse(words, (*_OF_ENGINES, *_OF_COMMANDS), "--hf")
        return dump_hf_model(words.hf, prompts)
    assert words.command is not None
    _refuse(words, _OF_ENGINES, "--command")
    if words.folder is None:
        raise UsageError("--command needs --folder, the folder that it leaves its dump in")
    layout = parse_layout(words.shape, words.vocabulary, words.tensor)
    timeout = _TIMEOUT_SECONDS if words.timeout is None else words.timeout
    return dump_command(
        CommandRequest(words.command, words.folder, layout, prompts, words.step or 0, timeout)
    )


def _engine_request(words: DumpWords, engine: str, prompts: Sequence[Sequence[int]] | None) -> EngineRequest:
    if words.model is None:
        find_engine(engine)
        raise UsageError(f"{engine} needs --model, the model profile whose geometry it has: tiny-decode")
    if prompts is not None:
        _refuse(words, ("prompt_tokens",), "--prompt-ids")
        if words.weights is not None:
            _refuse(words, ("seed",), "--weights and --prompt-ids, beside which nothing is drawn")
    return EngineRequest(
        subject=engine,
        model=words.model,
        guards_file=words.guards_file,
        prompts=prompts,
        sequences=words.batch,
        prompt_tokens=_PROMPT_TOKENS if words.prompt_tokens is None else words.prompt_tokens,
        seed=_SEED if words.seed is None else words.seed,
        arm=words.arm,
        mode=words.mode,
        weights=words.weights,
        settings=words.settings,
    )


def _refuse(words: DumpWords, names: Sequence[str], source: str) -> None:
    for name in names:
        if getattr(words, name) not in (None, ()):
            option = _WRITTEN_AS.get(name, name).replace("_", "-")
            raise UsageError(f"--{option} does not go with {source}")


def _report(path: Path, dumped: Dumped) -> None:
    sequences, vocabulary = dumped.logits.shape
    identity = dumped.identity
    print_line(f"{path}: {sequences} x {vocabulary} logits of step {identity.step}, {identity.engine}")
    if identity.prompts is None:
        print_line("  the prompt is not known; state it with --prompt-ids, so that others are refused")
    else:
        for prompt in identity.prompts:
            print_line(f"  prompt  {','.join(map(str, prompt))}")
    print_line(f"  argmax  {', '.join(str(int(row.argmax())) for row in dumped.logits)}")
    print_line(f"  build   {identity.build}{f', {identity.mode}' if identity.mode else ''}")
    for sentence in identity.arms:
        print_line(f"  arm     {sentence}")
    if dumped.tensors:
        print_line(f"  beside  {len(dumped.tensors)} tensors: {', '.join(sorted(dumped.tensors)[:6])}")
    if count := nonfinite_elements(dumped.logits):
        typer.echo(f"  {count} logits are NaN or infinite: no comparison with this dump passes", err=True)
