"""Dumps of a decode engine that a kernel family states."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from guardrail import registry
from guardrail.adapters.device import executing_gpu
from guardrail.adapters.logits.sources import Dumped, file_hash, surroundings
from guardrail.adapters.logits.worker import run_in_worker
from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.errors import MeasurementError, UsageError
from guardrail.families import DecodeOptions, Engine, Mode, ModelProfile
from guardrail.logits.dump import Identity
from guardrail.logits.packing import unpack
from guardrail.logits.prompts import check_prompts, draw_prompts
from guardrail.probes.engine_settings import EngineSettings
from guardrail.probes.references import modules_of
from guardrail.sources import combined_hash
from guardrail.spec.messages import sentence
from guardrail.spec.profile_files import load_profiles
from guardrail.spec.suggest import did_you_mean

REFERENCE = "reference"
"""In place of an arm: the engine that its family calls the reference."""


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """Which first step of which engine is asked for."""

    subject: str
    model: str
    guards_file: Path
    """Model profiles are looked for beside it first."""
    prompts: Sequence[Sequence[int]] | None
    """Drawn with the seed where None."""
    sequences: int | None
    """As many as there are prompts where None."""
    prompt_tokens: int = 4
    seed: int = 0
    arm: str | None = None
    mode: str | None = None
    weights: Path | None = None
    settings: tuple[str, ...] = ()
    """``name=value`` of `EngineSettings`."""


def dump_engine(request: EngineRequest) -> Dumped:
    """Start an engine and take its first step.

    Raises:
        UsageError: There is no such engine, model, arm, mode or setting, or the prompts are not fit for it.
        MeasurementError: The engine could not run, or a captured step is asked for without a GPU.
    """
    engine = find_engine(request.subject)
    start = _start(engine, request)
    model = _model(request)
    prompts = _prompts(request, model)
    gpu = executing_gpu()
    mode = _mode(request.mode, on_gpu=gpu is not None)
    options = DecodeOptions(
        sequences=len(prompts),
        context=len(prompts[0]) + 1,
        seed=request.seed,
        weights=None if request.weights is None else str(request.weights),
        **_settings(request.settings).start_options(),
    )
    weights_hash = _weights_hash(request)  # before minutes of work, for a file that is not there
    begun = surroundings(gpu)
    found = run_in_worker(
        "guardrail.adapters.logits.engine_run:run_first_steps",
        {
            "start": start,
            "model": model,
            "options": options,
            "batches": [prompts],
            "modes": [mode],
            "with_tensors": True,
        },
        gpu,
        request.subject,
    )
    (step,) = found["steps"][mode]
    identity = Identity(
        engine=_described(request, engine),
        build=f"sha256:{combined_hash(modules_of((start,)), *weights_hash)}",
        prompts=tuple(map(tuple, prompts)),
        mode=mode,
        arms=tuple(found["arms"]),
        provenance=begun,
    )
    tensors = {name: unpack(packed) for name, packed in step["tensors"].items()}
    return Dumped(unpack(step["logits"]), identity, tensors)


def find_engine(name: str) -> Engine:
    """Find a decode engine by its family's name.

    Raises:
        UsageError: No family states such an engine.
    """
    if str(Path.cwd()) not in sys.path:
        # A user's family is imported by name from where the command is given.
        sys.path.insert(0, str(Path.cwd()))
    found = registry.find_subject(name, registry.families(), (Engine,))
    assert isinstance(found, Engine)
    return found


def _start(engine: Engine, request: EngineRequest) -> str:
    if request.arm is None:
        return engine.start
    offered = dict(engine.forced_arms)
    if engine.reference:
        offered[REFERENCE] = engine.reference
    if request.arm not in offered:
        known = did_you_mean(request.arm, offered) or "; it states none"
        raise UsageError(f"--arm {request.arm}: {request.subject} cannot be forced to it{known}")
    return offered[request.arm]


def _model(request: EngineRequest) -> ModelProfile:
    models = load_profiles(request.guards_file, frozenset(ARCHITECTURES)).models
    if request.model not in models:
        hint = did_you_mean(request.model, models)
        raise UsageError(f"--model {request.model}: there is no such model profile{hint}")
    return models[request.model]


def _prompts(request: EngineRequest, model: ModelProfile) -> Sequence[Sequence[int]]:
    if request.prompts is None:
        if model.vocabulary is None:
            raise UsageError(f"model profile {model.name} states no vocabulary; give --prompt-ids")
        return draw_prompts(model.vocabulary, request.sequences or 1, request.prompt_tokens, request.seed)
    if request.sequences not in (None, len(request.prompts)):
        raise UsageError(
            f"--batch {request.sequences}: {len(request.prompts)} --prompt-ids are given; leave one out"
        )
    # A GGUF file states a vocabulary of its own.
    vocabulary = model.vocabulary if request.weights is None else None
    check_prompts(request.prompts, vocabulary, f"model profile {model.name}")
    return request.prompts


def _mode(asked: str | None, on_gpu: bool) -> Mode:
    if asked is None:
        return Mode.CAPTURED if on_gpu else Mode.EAGER
    if asked not in list(Mode):
        raise UsageError(f"--mode {asked}: expected {' or '.join(Mode)}")
    if asked == Mode.CAPTURED and not on_gpu:
        raise MeasurementError(
            "--mode captured: a step is captured in a CUDA graph, and there is no GPU here that torch can use"
        )
    return Mode(asked)


def _settings(words: Sequence[str]) -> EngineSettings:
    stated: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        known = did_you_mean(name, EngineSettings.model_fields)
        if not equals:
            raise UsageError(f"--option {word}: expected name=value{known}")
        if name not in EngineSettings.model_fields:
            raise UsageError(f"--option {word}: there is no such setting{known}")
        if name in stated:
            raise UsageError(f"--option {word}: {name} is given twice; leave one out")
        try:
            stated[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            stated[name] = value
    try:
        return EngineSettings(**stated)
    except ValidationError as error:
        faults = [
            f"--option {fault['loc'][0]}: {sentence(fault['type'], fault.get('ctx', {}), fault['msg'])}"
            for fault in error.errors()
        ]
        raise UsageError("; ".join(faults)) from error


def _weights_hash(request: EngineRequest) -> tuple[str, ...]:
    if request.weights is None:
        return ()
    try:
        return (file_hash(request.weights),)
    except OSError as error:
        raise UsageError(f"--weights {request.weights}: cannot be read: {error.strerror}") from error


def _described(request: EngineRequest, engine: Engine) -> str:
    parts = [f"{engine.name} of {request.subject}", f"model {request.model}"]
    parts.append(
        f"weights {request.weights}" if request.weights else f"random weights of seed {request.seed}"
    )
    parts += [f"arm {request.arm}"] if request.arm else []
    return ", ".join([*parts, *request.settings])
