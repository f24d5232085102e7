"""The logits probe, with its engines answered by the test or run on the tiny model."""

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.families import Engine
from guardrail.kernels.reference_decode.manifest import FAMILY
from guardrail.logits.packing import pack
from guardrail.probes.interface import Context
from guardrail.probes.logits import LogitsProbe
from guardrail.probes.logits_guard import LogitsGuard
from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.task import Done, Failed, Outcome, Task
from guardrail.spec.profile_files import load_profiles
from helpers.probing import Answer, answering, measured, sentences
from helpers.tiny_decode import ROOT

ENGINE: Engine = FAMILY.engines[0]
UNBOUNDED: Engine = next(
    control.mutant for control in ENGINE.controls if control.name == "gate-without-upper-bound"
)
PROFILES = load_profiles(Path(ROOT / "guards.yaml"), frozenset(ARCHITECTURES))
ON_CPU = Context(PROFILES.models, None, interpreted=True, devices=PROFILES.devices)
ON_H200 = replace(ON_CPU, interpreted=False, gpu_name=PROFILES.devices["h200"].device_name)

V1 = "guardrail.kernels.reference_decode.start:start_with_reference_arm"
PAIR = {"matvec_threshold": 10**9}
DELTA = {"max_abs_delta": {"ceiling": 1.0}}
EVERYTHING = {
    name: {"ceiling": 1}
    for name in ("max_abs_delta", "argmax_differs", "rounding_multiple", "nonfinite_logits", "batch_multiple")
}


def guard(require: dict[str, Any], workload: dict[str, Any] | None = None, **keys: Any) -> LogitsGuard:
    return LogitsGuard(
        id="logits",
        title="logits",
        probe="logits",
        subject="reference_decode",
        workload={"model": "tiny-decode"} | (workload or {}),
        require=require,
        **keys,
    )


def engines(**logits: list[float] | Outcome) -> Answer:
    """Answer for the subject, the reference and the pair, alone or in a batch, each prompt with one row."""

    def answer(task: Task) -> Outcome:
        arguments = task.arguments
        role = "subject" if arguments["start"] == ENGINE.start else "reference"
        if arguments["options"].matvec_threshold == PAIR["matvec_threshold"]:
            role = "pair"
        sequences = arguments["options"].sequences
        found = logits.get(f"{role}{sequences}", logits.get(role, [0.0, 1.0, 2.0]))
        if isinstance(found, Failed):
            return found
        row = np.array([found], dtype=np.float32)
        steps = [{"logits": pack(np.repeat(row, len(batch), axis=0))} for batch in arguments["batches"]]
        return Done({"steps": dict.fromkeys(arguments["modes"], steps), "arms": ["output: v2"]}, 1.0)

    return answering({"run_first_steps": answer})


def values(found: Any) -> dict[str, Any]:
    return {item.metric: item.value for item in found if isinstance(item, Measurement)}


def named(found: Any, metric: str) -> Measurement:
    (only,) = [item for item in found if isinstance(item, Measurement) and item.metric == metric]
    return only


def test_a_subject_is_held_against_its_reference_and_against_what_rounds() -> None:
    answer = engines(subject=[0.0, 1.0, 2.5], reference=[0.0, 1.0, 2.0], pair=[0.0, 1.25, 2.0])
    found, (tasks,) = measured(
        LogitsProbe(),
        guard(EVERYTHING | {"kl": {"ceiling": 1}}, pair=PAIR, batches=[1, 2]),
        ENGINE,
        ON_CPU,
        answer,
    )
    assert [task.arguments["options"].sequences for task in tasks] == [1, 2, 1, 2, 1]
    assert [task.arguments["start"] for task in tasks] == [ENGINE.start] * 2 + [V1] * 3
    alone = values(item for item in found if item.where.get("batch") == "batch 1")
    assert alone == {
        "nonfinite_logits": 0,
        "max_abs_delta": 0.5,
        "mean_abs_delta": pytest.approx(0.5 / 3),
        "kl": pytest.approx(0.02614, abs=1e-5),
        "argmax_differs": 0,
        "rounding_multiple": 2.0,
    }


def test_a_lone_sequence_is_run_on_every_prompt_of_the_batch() -> None:
    _, (tasks,) = measured(
        LogitsProbe(), guard(EVERYTHING, pair=PAIR, batches=[1, 3]), ENGINE, ON_CPU, engines()
    )
    shapes = [[len(batch) for batch in task.arguments["batches"]] for task in tasks]
    assert shapes == [[1, 1, 1], [3], [1, 1, 1], [3], [1]]
    lone, together = (list(chain.from_iterable(task.arguments["batches"])) for task in tasks[:2])
    assert lone == together


def test_another_argmax_is_named_with_its_lead() -> None:
    answer = engines(subject=[0.0, 3.0, 2.0], reference=[0.0, 1.0, 2.0])
    found, _ = measured(LogitsProbe(), guard(DELTA), ENGINE, ON_CPU, answer)
    differs = named(found, "argmax_differs")
    assert (differs.value, sentences(differs)) == (1, ["sequence 0: token 1, not 2; it led by 1"])
    assert sentences(named(found, "max_abs_delta")) == ["worst at sequence 0, token 1", "output: v2"]


def test_a_batch_may_differ_by_what_the_reference_engine_does() -> None:
    answer = engines(subject1=[0.0, 1.0, 2.0], subject2=[0.0, 1.0, 2.75], reference2=[0.0, 1.0, 2.25])
    found, _ = measured(LogitsProbe(), guard(EVERYTHING, pair=PAIR, batches=[1, 2]), ENGINE, ON_CPU, answer)
    assert named(found, "batch_max_abs_delta").value == 0.75
    multiple = named(found, "batch_multiple")
    assert (multiple.value, multiple.where["batch"]) == (3.0, "batch 1 and 2")


def test_what_is_not_finite_is_counted_and_leaves_no_difference_that_could_pass() -> None:
    answer = engines(subject=[0.0, 1.0, float("nan")], pair=[0.0, 1.5, 2.0])
    found, _ = measured(LogitsProbe(), guard(EVERYTHING, pair=PAIR, batches=[1, 2]), ENGINE, ON_CPU, answer)
    counted = [item.value for item in found if item.metric == "nonfinite_logits"]
    assert counted == [2, 2]
    assert named([i for i in found if i.where["batch"] == "batch 1"], "max_abs_delta").value is None
    assert named([i for i in found if i.where["batch"] == "batch 1"], "rounding_multiple").value is None
    assert named(found, "batch_multiple").value is None


@pytest.mark.parametrize(("subject", "multiple"), [([0.0, 1.0, 2.0], 0.0), ([0.0, 1.0, 2.5], None)])
def test_a_pair_that_does_not_differ_measures_no_rounding(
    subject: list[float], multiple: float | None
) -> None:
    found, _ = measured(
        LogitsProbe(),
        guard(EVERYTHING | DELTA, pair=PAIR, batches=[1, 2]),
        ENGINE,
        ON_CPU,
        engines(subject=subject),
    )
    alone = [item for item in found if item.where.get("batch") == "batch 1"]
    assert named(alone, "rounding_multiple").value == multiple


def test_an_engine_that_fails_is_said_and_gives_no_measurement_of_its_own() -> None:
    answer = engines(reference=Failed("out of memory"))
    found, _ = measured(LogitsProbe(), guard(DELTA), ENGINE, ON_CPU, answer)
    assert Unmeasured("out of memory", {"engine": "reference", "batch": "batch 1"}) in found
    assert values(found) == {"nonfinite_logits": 0}


def test_only_what_is_bounded_is_run() -> None:
    _, (tasks,) = measured(
        LogitsProbe(), guard({"nonfinite_logits": {"equals": 0}}), ENGINE, ON_CPU, engines()
    )
    assert [task.arguments["start"] for task in tasks] == [ENGINE.start]


def test_modes_are_compared_by_bits_where_there_is_a_gpu() -> None:
    asked = guard({"differing_logits": {"equals": 0}}, modes=["eager", "captured"])
    found, _ = measured(LogitsProbe(), asked, ENGINE, ON_H200, engines())
    assert named(found, "differing_logits").value == 0
    assert named(found, "differing_logits").where["device"] == "h200"
    skipped, rounds = measured(LogitsProbe(), asked, ENGINE, ON_CPU, engines())
    assert (skipped, rounds) == ([Unmeasured("there is no GPU to capture a step on", skipped=True)], [])


def test_a_guard_for_another_machine_is_skipped() -> None:
    found, _ = measured(LogitsProbe(), guard(DELTA, devices=["h200"]), ENGINE, ON_CPU, engines())
    assert found == [Unmeasured("the guard is for h200, and this machine has no GPU", skipped=True)]


def test_the_reference_is_a_forced_arm_or_an_engine_of_ones_own() -> None:
    _, (tasks,) = measured(LogitsProbe(), guard(DELTA, reference="v1"), ENGINE, ON_CPU, engines())
    assert tasks[1].arguments["start"] == V1
    own = guard(DELTA, reference="my.engine:start")
    _, (tasks,) = measured(LogitsProbe(), own, ENGINE, ON_CPU, engines())
    assert tasks[1].arguments["start"] == "my.engine:start"
    assert "my.engine" in tasks[1].modules
    assert own.references == ("my.engine:start",)
    found, rounds = measured(LogitsProbe(), guard(DELTA, reference="v9"), ENGINE, ON_CPU, engines())
    assert (found, rounds) == ([Unmeasured("engine engine states no v9; it can be forced to: v1")], [])


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"require": {"argmax_differs": {"equals": 0}}}, "no proof of right logits"),
        ({"require": {"rounding_multiple": {"ceiling": 1}}}, "rounding_multiple needs 'pair'"),
        ({"require": {"differing_logits": {"equals": 0}}}, "differing_logits compares modes"),
        ({"require": {"batch_multiple": {"ceiling": 1}}, "batches": [2]}, "batch_multiple compares batches"),
        ({"require": DELTA, "batches": [2], "workload": {"prompts": [[1]]}}, "1 prompts are too few"),
        ({"require": DELTA, "workload": {"prompts": [[1], [1, 2]]}}, "prompts are equally long"),
    ],
)
def test_a_guard_that_could_not_hold_what_it_says_is_refused(keys: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        guard(**keys)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the interpreter is off where there is a GPU")
def test_the_planted_gate_is_beyond_rounding_and_the_shipped_one_is_not() -> None:
    workload = {"matvec_threshold": 0, "block_units": 32, "prompts": [[3]]}
    asked = guard(DELTA | {"rounding_multiple": {"ceiling": 1}}, workload, pair=PAIR)
    shipped, planted = (
        named(measured(LogitsProbe(), asked, engine, ON_CPU)[0], "rounding_multiple").value
        for engine in (ENGINE, UNBOUNDED)
    )
    assert shipped is not None
    assert planted is not None
    assert shipped < 0.01
    assert planted > 1.0
