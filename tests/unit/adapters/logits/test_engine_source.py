"""What a dump of an engine may be asked for; the runs themselves are functional tests."""

from pathlib import Path
from typing import Any

import pytest

from guardrail.adapters.logits import engine_source
from guardrail.adapters.logits.engine_source import EngineRequest, dump_engine
from guardrail.errors import MeasurementError, UsageError
from guardrail.logits.packing import pack
from helpers.logit_dumps import dump
from helpers.tiny_decode import ROOT


def request(**changes: Any) -> EngineRequest:
    stated: dict[str, Any] = {
        "subject": "reference_decode",
        "model": "tiny-decode",
        "guards_file": ROOT / "guards.yaml",
        "prompts": [[3, 17]],
        "sequences": None,
    }
    return EngineRequest(**(stated | changes))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Answer in place of the worker, and keep what it was asked."""
    kept: dict[str, Any] = {}

    def run(function: str, arguments: dict[str, Any], gpu: object, what: str) -> dict[str, Any]:
        kept.update(arguments)
        (batch,) = arguments["batches"]
        step = {"logits": pack(dump([[1.0, 2.0]] * len(batch)).logits), "tensors": {}}
        return {"steps": {mode: [step] for mode in arguments["modes"]}, "arms": ["output: v1"]}

    monkeypatch.setattr(engine_source, "run_in_worker", run)
    monkeypatch.setattr(engine_source, "executing_gpu", lambda: None)
    return kept


def test_settings_seed_and_prompts_reach_the_engine(asked: dict[str, Any]) -> None:
    found = dump_engine(request(seed=4, settings=("block_units=32", "planes=false")))
    options = asked["options"]
    assert (options.seed, options.block_units, options.planes, options.context) == (4, 32, False, 3)
    assert asked["start"] == "guardrail.kernels.reference_decode.start:start"
    assert (found.identity.prompts, found.identity.mode) == (((3, 17),), "eager")
    assert found.identity.arms == ("output: v1",)
    assert found.identity.engine.endswith(
        "model tiny-decode, random weights of seed 4, block_units=32, planes=false"
    )


@pytest.mark.parametrize("arm", ["v1", "reference"])
def test_an_arm_is_forced_by_another_start(asked: dict[str, Any], arm: str) -> None:
    dump_engine(request(arm=arm))
    assert asked["start"] == "guardrail.kernels.reference_decode.start:start_with_reference_arm"


def test_prompts_are_drawn_for_a_batch(asked: dict[str, Any]) -> None:
    found = dump_engine(request(prompts=None, sequences=3, prompt_tokens=5))
    assert [len(prompt) for prompt in found.identity.prompts or ()] == [5, 5, 5]
    assert asked["options"].sequences == 3


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"subject": "q6k"}, "names a family alone|has no engine|add one engine"),
        ({"model": "tiny"}, "--model tiny: there is no such model profile; known: .*tiny-decode"),
        ({"arm": "v9"}, "--arm v9: reference_decode cannot be forced to it"),
        ({"mode": "graph"}, "--mode graph: expected eager or captured"),
        ({"sequences": 2}, "--batch 2: 1 --prompt-ids are given"),
        ({"prompts": [[3], [3, 17]]}, "--prompt-ids: prompts of one dump are equally long"),
        ({"prompts": [[3, 512]]}, "token 512 is outside model profile tiny-decode's vocabulary of 512"),
        ({"settings": ("tile=32",)}, "--option tile=32: there is no such setting; known: block_units"),
        ({"settings": ("planes",)}, "--option planes: expected name=value"),
        ({"settings": ("planes=true", "planes=false")}, "--option planes=false: planes is given twice"),
        ({"settings": ("block_units=-1",)}, "--option block_units: must be greater than 0"),
        ({"settings": ("block_units=7",)}, "--option block_units: must be a power of two, and 7 is none"),
        ({"settings": ("planes=32",)}, "--option planes: must be a valid boolean"),
        ({"weights": Path("none.gguf")}, "--weights none.gguf: cannot be read"),
    ],
)
def test_what_an_engine_cannot_do_is_a_usage_error(
    asked: dict[str, Any], changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        dump_engine(request(**changes))


def test_a_captured_step_without_a_gpu_is_not_measured(asked: dict[str, Any]) -> None:
    with pytest.raises(MeasurementError, match=r"--mode captured: .* no GPU here that torch can use"):
        dump_engine(request(mode="captured"))
