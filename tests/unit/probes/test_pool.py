from dataclasses import replace
from pathlib import Path

from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.families import Allocation, EngineOptions, EngineStart, Pool
from guardrail.probes.interface import Context
from guardrail.probes.pool import PoolGuard, PoolProbe
from guardrail.records.measurement import Unmeasured
from guardrail.spec.guards import Bound
from guardrail.spec.profile_files import load_profiles
from helpers.probing import measured, sentences
from helpers.toy_gate import LONG, SHORT

PROFILES = load_profiles(Path("guards.yaml"), frozenset(ARCHITECTURES))
CONTEXT = Context(
    {model.name: model for model in (SHORT, LONG)}, None, interpreted=True, devices=PROFILES.devices
)
POOL = Pool("pool", "toy", f"{__name__}:start", f"{__name__}:start")


def start(models, options):
    """Allocate one set for each model, the drafter's too late."""
    sets = [
        Allocation((model.name,), options.max_num_seqs, options.max_num_seqs * options.processors, 4,
                   "model load" if place == 0 else "builder", place == 0)
        for place, model in enumerate(models)
    ]  # fmt: skip
    return EngineStart(tuple(sets), batches=5, eligible_2d=len(options.capture_sizes))


def start_seen(models, options):
    """Tell what the engine is started with."""
    assert options == EngineOptions(3, 64, 48, (12, 1), (1, 2))
    return EngineStart((), batches=1, eligible_2d=0)


def pool(subject=POOL, context=CONTEXT, **keys):
    stated = {"models": ["short-model", "long-model"], "devices": ["h200"], "max_num_seqs": [3]} | keys
    guard = PoolGuard(
        id="g", title="t", probe="pool", subject="toy.pool", require={"sets": Bound(equals=2)}, **stated
    )
    return measured(PoolProbe(), guard, subject, context)


def test_a_start_is_summed_up():
    found, _ = pool()
    assert {item.metric: (item.value, item.inspected) for item in found} == {
        "pool_bytes": (2 * 3 * 132 * 4, 5),
        "unprofiled_bytes": (3 * 132 * 4, 5),
        "sets": (2, 5),
        "eligible_2d": (0, 5),
    }
    assert sentences(found[0]) == [
        "short-model: 3 rows, 1584 bytes, allocated at model load",
        "long-model: 3 rows, 1584 bytes, allocated at builder",
    ]


def test_an_engine_is_started_for_each_device_and_number_of_sequences():
    found, _ = pool(devices=["h200", "rtx3090"], max_num_seqs=[1, 2])
    assert [(item.where, item.value) for item in found if item.metric == "pool_bytes"] == [
        ({"device": "h200", "max_num_seqs": "1"}, 2 * 132 * 4),
        ({"device": "h200", "max_num_seqs": "2"}, 2 * 2 * 132 * 4),
        ({"device": "rtx3090", "max_num_seqs": "1"}, 2 * 82 * 4),
        ({"device": "rtx3090", "max_num_seqs": "2"}, 2 * 2 * 82 * 4),
    ]


def test_the_engine_is_started_as_the_guard_says():
    seen = replace(POOL, start=f"{__name__}:start_seen")
    found, _ = pool(seen, devices=["gb10"], max_num_batched_tokens=64, capture_sizes=[1, 2])
    assert [item.value for item in found] == [0, 0, 0, 0]


def test_only_the_chosen_device_is_started_on():
    chosen = replace(CONTEXT, device=PROFILES.devices["rtx3090"])
    found, _ = pool(context=chosen, devices=["h200", "rtx3090"])
    assert {item.where["device"] for item in found} == {"rtx3090"}
    skipped, rounds = pool(context=chosen)
    assert (skipped, rounds) == ([Unmeasured("the guard does not cover rtx3090", skipped=True)], [])


def test_a_start_that_fails_is_not_measured():
    found, _ = pool(replace(POOL, start=f"{__name__}:gone"))
    (failed,) = found
    assert failed.where == {"device": "h200", "max_num_seqs": "3"}
    assert failed.reason.endswith("has no gone")
