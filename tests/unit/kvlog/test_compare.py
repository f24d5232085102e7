import pytest

from guardrail.errors import UsageError
from guardrail.kvlog.causes import causes, first_cause, what_is_left
from guardrail.kvlog.compare import Comparison, compare
from guardrail.kvlog.reading import GIB, Reading
from guardrail.kvlog.startup import Engine, Startup, Worker
from helpers.kv_logs import EAGER, GRAPH, kept, started

MIB = 2**20
LOADED = "Directly load the compiled graph(s) for compile range (1, 8192) from the cache, took 0.312 s"
SCRATCH = 59_179_008

SETTINGS = {
    "vllm": "0.27.1",
    "model": "m",
    "kv_cache_dtype": "auto",
    "max_model_len": "8",
    "utilization": "0.9",
}


def start(available: Reading, tokens: int, source: str = "x.log", **parts: Reading) -> Startup:
    """Make a start of one worker; parts that are not given are 0."""
    none = Reading.exact(0)
    names = ("model_load_bytes", "scratch_at_load_bytes", "outside_bytes", "activation_peak_bytes")
    readings = dict.fromkeys((*names, "graph_applied_bytes", "requested_bytes"), none) | parts
    worker = Worker("w", {**readings, "available_bytes": available})
    return Startup(source, (worker,), (Engine("e", {"kv_tokens": Reading.exact(tokens)}),), SETTINGS)


def taken(found: Comparison) -> dict[str, int | float]:
    return {part.name: part.taken.value for part in found.parts if part.taken is not None}


def test_what_scratch_at_load_takes_is_told_from_the_model():
    found = compare(started(kept("0.27.1_stock.log")), started(kept("0.27.1_seed_pool.log")))
    assert taken(found) == {
        "scratch at load": SCRATCH,
        # 14.37 - 14.31 GiB as printed, less the scratch: rounding.
        "model but scratch": round(14.37 * GIB) - round(14.31 * GIB) - SCRATCH,
        "outside the allocator": 0,
        "activation peak": 0,
        "estimate of graphs": 0,
        "requested memory": 0,
    }
    assert found.lost is not None
    assert found.lost.low <= SCRATCH <= found.lost.high
    assert found.explained
    # Fewer bytes in whole blocks of 16 tokens of 22336 bytes.
    assert (found.tokens_before, found.tokens_now) == (282_800, 280_144)
    assert pytest.approx(SCRATCH, abs=16 * 22_336) == (282_800 - 280_144) * 22_336


def test_the_real_eager_and_captured_starts_differ_by_activation_and_the_estimate():
    found = compare(started(kept(EAGER)), started(kept(GRAPH)))
    assert found.explained
    assert taken(found) | {"activation peak": 0, "estimate of graphs": 0} == {
        "scratch at load": 0,
        "model but scratch": 0,
        "outside the allocator": 0,
        "activation peak": 0,
        "estimate of graphs": 0,
        "requested memory": 0,
    }
    assert causes(found) == [
        "kv_tokens fell by 36,240, from 6,902,048 to 6,865,808",
        "available_bytes of MainProcess fell by 145.44 MiB ± 4.3",
        "activation peak took 102.40 MiB ± 15.4",
        "estimate of graphs took 51.20 MiB ± 5.1",
    ]
    assert first_cause(found) == "activation peak took 102.40 MiB ± 15.4"
    assert found.changed_settings == ("compile_cache: not stated -> compiled", "enforce_eager: True -> False")


def test_what_the_logs_state_as_one_sum_is_open_by_its_rounding_once():
    found = compare(started(kept(EAGER)), started(kept(GRAPH)))
    rest = found.unexplained
    assert rest is not None
    # Twice each for what is consumed and for the peak, and the 4.35 MiB that the budget itself is open by.
    assert (rest.high - rest.low) / 2 / MIB == pytest.approx(2 * 5.12 + 2 * 5.12 + 4.35, abs=0.01)


def test_the_other_way_around_the_bytes_are_given_back():
    found = compare(started(kept("0.27.1_seed_pool.log")), started(kept("0.27.1_stock.log")))
    assert causes(found) == [
        "kv_tokens rose by 2,656, from 280,144 to 282,800",
        "available_bytes of EngineCore rose by 51.20 MiB ± 7.6",
        "model_load_bytes of EngineCore fell by 61.44 MiB ± 10.2",
        "scratch at load gave back 56.44 MiB",
    ]
    assert first_cause(found) == ""


def test_a_start_against_itself_differs_by_nothing():
    found = compare(started(kept(EAGER)), started(kept(EAGER)))
    assert found.lost == Reading.exact(0)
    assert causes(found) == ["nothing differs beyond the rounding of the logs"]


def test_what_no_line_accounts_for_is_said():
    before = start(Reading.exact(1000 * MIB), 1000)
    found = compare(before, start(Reading.exact(900 * MIB), 900))
    assert found.unexplained == Reading.exact(100 * MIB)
    assert not found.explained
    assert causes(found) == [
        "kv_tokens fell by 100, from 1,000 to 900",
        "available_bytes of w fell by 100.00 MiB",
        "100.00 MiB of it is in no line of the log",
    ]


def test_wider_tokens_are_the_first_cause_where_the_memory_is_the_same():
    before = start(Reading.exact(1000 * MIB), 100_000)
    found = compare(before, start(Reading.exact(1000 * MIB), 50_000))
    assert first_cause(found) == "bytes_per_token rose from 10485.8 to 20971.5"
    assert causes(found) == ["kv_tokens fell by 50,000, from 100,000 to 50,000", first_cause(found)]


def test_a_smaller_request_takes_what_it_asks_for_less():
    size = Reading(1000 * MIB, 995 * MIB, 1005 * MIB)
    before = start(Reading.exact(500 * MIB), 500, requested_bytes=size)
    smaller = Reading(900 * MIB, 895 * MIB, 905 * MIB)
    found = compare(before, start(Reading.exact(400 * MIB), 400, requested_bytes=smaller))
    assert found.parts[-1].taken == Reading(100 * MIB, 90 * MIB, 110 * MIB)
    assert found.explained
    same = compare(before, start(Reading.exact(500 * MIB), 500, requested_bytes=size))
    assert same.parts[-1].taken == Reading.exact(0)


@pytest.mark.parametrize("setting", list(SETTINGS))
def test_starts_of_different_engines_are_not_compared_unless_told_to(setting):
    before = start(Reading.exact(1), 1, source="a.log")
    now = start(Reading.exact(1), 1, source="b.log")
    now = Startup(now.source, now.workers, now.engines, {**SETTINGS, setting: "other"})
    with pytest.raises(UsageError, match=f"{setting} is {SETTINGS[setting]} in a.log and other in b.log"):
        compare(before, now)
    assert compare(before, now, ignored=(setting,)).lost == Reading.exact(0)


def test_a_start_that_compiled_is_not_compared_with_one_that_loaded():
    # A cold start's profile peaks higher, so it has fewer tokens with no other cause.
    warm = kept(GRAPH).replace("Compiling a graph for compile range (1, 8192) takes 14.19 s", LOADED)
    assert LOADED in warm
    with pytest.raises(UsageError, match=r"compile_cache is loaded in x\.log and compiled in x\.log"):
        compare(started(warm), started(kept(GRAPH)))
    assert compare(started(warm), started(kept(GRAPH)), ignored=("compile_cache",)).explained


def test_where_a_log_does_not_say_whether_it_compiled_the_starts_are_compared():
    silent = kept(GRAPH).replace("Compiling a graph", "Doing something with a graph")
    assert compare(started(silent), started(kept(GRAPH))).changed_settings == (
        "compile_cache: not stated -> compiled",
    )


def test_a_setting_that_one_log_does_not_state_is_a_difference():
    with pytest.raises(UsageError, match=r"utilization is not stated in x.log and 0\.2 in x.log"):
        compare(started(kept("0.20.2_v2.log")), started(kept(EAGER)))


def test_the_worker_with_the_least_is_explained_and_must_be_in_both():
    both = started(kept("0.11.0_tp2.log"))
    assert compare(both, both).process == "Worker_TP1"
    first = Startup("one.log", both.workers[:1], both.engines, both.settings)
    with pytest.raises(UsageError, match=r"one\.log: there is no worker Worker_TP1"):
        compare(first, both)


def test_what_is_left_is_said_in_one_sentence():
    (worker,) = started(kept(EAGER)).workers
    assert what_is_left(worker) == (
        "MainProcess: 27803.68 MiB for the KV cache beside 348.16 MiB ± 5.1 model, 0.00 MiB of it scratch, "
        "92.16 MiB ± 10.2 outside the allocator, 378.88 MiB ± 5.1 activation peak, "
        "0.00 MiB estimate of graphs"
    )


def test_a_part_that_may_be_rounding_is_no_cause():
    before = start(Reading.exact(1000 * MIB), 1000)
    loud = {
        "outside_bytes": Reading(30 * MIB, -5 * MIB, 65 * MIB),
        "scratch_at_load_bytes": Reading.exact(MIB),
    }
    found = compare(before, start(Reading.exact(995 * MIB), 995, **loud))
    assert first_cause(found) == "scratch at load took 1.00 MiB"


@pytest.mark.parametrize(
    ("depth", "tokens", "explained"),
    [
        (
            7,
            (6_753_840, 6_748_880),
            [
                "kv_tokens fell by 4,960, from 6,753,840 to 6,748,880",
                "available_bytes of MainProcess fell by 20.48 MiB ± 8.0",
                "model_load_bytes of MainProcess rose by 30.72 MiB ± 10.2",
                "scratch at load took 24.94 MiB",
            ],
        ),
        (
            15,
            (6_742_432, 6_741_424),
            [
                "kv_tokens fell by 1,008, from 6,742,432 to 6,741,424",
                "model_load_bytes of MainProcess rose by 30.72 MiB ± 10.2",
                "scratch at load took 24.94 MiB",
                "estimate of graphs gave back 20.48 MiB ± 10.2",
            ],
        ),
    ],
)
def test_the_real_starts_of_both_arms_differ_by_the_scratch_and_by_what_graphs_give_back(
    depth: int, tokens: tuple[int, int], explained: list[str]
):
    stock, ours = (started(kept(f"0.33.0_h200_{arm}_depth{depth}.log")) for arm in ("stock", "guardrail"))
    found = compare(stock, ours)
    assert found.explained
    assert (found.tokens_before, found.tokens_now) == tokens
    assert causes(found) == explained
    # 1056 slots of 24 heads of 256 sums, a largest score and a sum of weights, in fp32.
    assert taken(found)["scratch at load"] == 1056 * 24 * (256 + 2) * 4
    assert found.now.readings["scratch_after_profile_bytes"] == Reading.exact(0)
    assert found.now.readings["adopted"] == Reading.exact(1)
    # A block is 16 tokens of 4 layers, 4 heads, keys and values, 128 bytes and a scale.
    assert found.lost is not None
    assert found.lost.low <= (tokens[0] - tokens[1]) * 4 * 4 * 2 * 132 <= found.lost.high
