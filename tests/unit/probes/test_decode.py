"""The decode probe, with its task answered by the test or run on the tiny model."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.families import Engine
from guardrail.families.decode import MATVEC_THRESHOLD
from guardrail.kernels.kquants import geometry
from guardrail.kernels.reference_decode.manifest import FAMILY
from guardrail.probes.decode import DecodeGuard, DecodeProbe
from guardrail.probes.interface import Context
from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.task import Done, Failed
from guardrail.spec.profile_files import load_profiles
from helpers.probing import answering, by_metric, measured, sentences
from helpers.tiny_decode import ROOT

ENGINE: Engine = FAMILY.engines[0]
PROFILES = load_profiles(Path(ROOT / "guards.yaml"), frozenset(ARCHITECTURES))
ON_CPU = Context(PROFILES.models, None, interpreted=True, devices=PROFILES.devices)
ON_H200 = replace(ON_CPU, interpreted=False, gpu_name=PROFILES.devices["h200"].device_name)

RESULT: dict[str, Any] = {
    "counts": {
        "kv_tokens": 4096,
        "kv_bytes_per_token": 288,
        "scratch_bytes": 2112,
        "scratch_bytes_after_profile": 0,
        "accidental_fallbacks": 2,
    },
    "compared": {"modes_differ": [0, 16], "differing_logits": [1, 512]},
    "timed": {
        "1641": {
            "tokens_per_second": [700.0, 702.0, 701.0, 699.0, 703.0, 698.0],
            "ms_per_step": [1.4, 1.5, 1.6, 1.7, 1.8, 1.3],
            "weight_stream_fraction": [0.7, 0.71, 0.72, 0.69, 0.68, 0.7],
        }
    },
    "beside": {"1641": ["captured; a step reads 10 bytes of weights, the card 4.3e+12 B/s"]},
    "arms": ["ffn_down: v2_dpl in 1 of the model's matrices"],
    "accidents": ["output: v2, because the dense split plane is absent although the engine asked for it"],
    "products": 20,
}


def guard(require: dict[str, Any], workload: dict[str, Any] | None = None, **keys: Any) -> DecodeGuard:
    return DecodeGuard(
        id="decode",
        title="decode",
        probe="decode",
        subject="reference_decode",
        workload={"model": "tiny-decode"} | (workload or {}),
        require=require,
        **keys,
    )


COUNTED = {"kv_tokens": {"floor": 1}}
TIMED = {"tokens_per_second": {"floor": 1.0}}


def test_counts_come_with_the_arms_and_accidents_that_stand_behind_them() -> None:
    answer = answering({"run_engine": lambda task: Done({**RESULT, "timed": {}, "compared": {}}, 1.0)})
    found, rounds = measured(DecodeProbe(), guard(COUNTED), ENGINE, ON_CPU, answer)
    named = by_metric(found)
    assert {name: item.value for name, item in named.items()} == RESULT["counts"]
    assert named["kv_tokens"].where == {"model": "tiny-decode"}
    assert sentences(named["accidental_fallbacks"]) == RESULT["accidents"]
    assert named["accidental_fallbacks"].inspected == 20
    assert sentences(named["kv_tokens"]) == RESULT["arms"]
    (task,) = rounds[0]
    assert (task.arguments["timed"], task.arguments["compared"], task.reusable) == (False, False, True)


def test_times_come_with_samples_interval_context_and_device() -> None:
    answer = answering({"run_engine": lambda task: Done(RESULT, 1.0)})
    found, rounds = measured(DecodeProbe(), guard(TIMED), ENGINE, ON_H200, answer)
    named = by_metric(found)
    rate = named["tokens_per_second"]
    assert (rate.value, rate.unit, rate.interval, rate.inspected) == (700.5, "tokens/s", (698.0, 703.0), 6)
    assert rate.where == {"model": "tiny-decode", "device": "h200", "context": "context 1641"}
    assert named["ms_per_step"].value == 1.55
    assert named["weight_stream_fraction"].value == 0.7
    assert (named["modes_differ"].value, named["modes_differ"].inspected) == (0, 16)
    assert (named["differing_logits"].value, named["differing_logits"].inspected) == (1, 512)
    (task,) = rounds[0]
    assert (task.arguments["timed"], task.reusable) == (True, False)


def test_what_needs_a_gpu_is_skipped_without_one() -> None:
    (found,), rounds = measured(DecodeProbe(), guard(TIMED | COUNTED), ENGINE, ON_CPU)
    assert isinstance(found, Unmeasured)
    assert found.skipped
    assert found.reason == "tokens_per_second: there is no GPU to time a step on or to capture it"
    assert rounds == []


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        (ON_CPU, "the guard is for h200, and this machine has no GPU"),
        (replace(ON_CPU, gpu_name="NVIDIA A2"), "the guard is for h200, and this machine has NVIDIA A2"),
        (replace(ON_H200, device=PROFILES.devices["gb10"]), "the guard is for h200, not for gb10"),
    ],
)
def test_a_guard_of_another_device_is_skipped_with_the_reason(context: Context, reason: str) -> None:
    (found,), _ = measured(DecodeProbe(), guard(COUNTED, devices=["h200"]), ENGINE, context)
    assert isinstance(found, Unmeasured)
    assert (found.skipped, found.reason) == (True, reason)


def test_an_engine_that_fails_is_not_measured() -> None:
    answer = answering({"run_engine": lambda task: Failed("out of memory")})
    found, _ = measured(DecodeProbe(), guard(COUNTED), ENGINE, ON_CPU, answer)
    assert found == [Unmeasured("out of memory")]


def test_the_options_hold_the_longest_context_prompt_and_new_tokens() -> None:
    options = guard(
        COUNTED, {"contexts": [0, 1641], "prompt_tokens": 4, "new_tokens": 128}
    ).workload.options()
    assert options.context == 1641 + 4 + 128
    assert options.matvec_threshold == MATVEC_THRESHOLD == geometry.MATVEC_THRESHOLD


@pytest.mark.parametrize(
    "workload", [{"new_tokens": 1}, {"repeats": 5}, {"contexts": []}, {"contexts": [-1]}, {"batch": 1}]
)
def test_a_workload_that_cannot_be_measured_is_refused(workload: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        guard(COUNTED, workload)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the figures are those of the interpreter")
def test_the_tiny_engine_is_measured_by_a_worker() -> None:
    tiny = guard(COUNTED, {"matvec_threshold": 0, "block_units": 32, "memory_bytes": 8_000_000})
    found, _ = measured(DecodeProbe(), tiny, ENGINE, ON_CPU)
    values = {item.metric: item.value for item in found if isinstance(item, Measurement)}
    assert values == {
        "kv_tokens": 15872,
        "kv_bytes_per_token": 288,
        "scratch_bytes": 2112,
        "scratch_bytes_after_profile": 0,
        "accidental_fallbacks": 0,
    }
