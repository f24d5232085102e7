import pytest

from guardrail.errors import MeasurementError
from guardrail.kvlog.reading import GIB, Reading
from helpers.kv_logs import (
    EAGER,
    GRAPH,
    in_a_container,
    in_colour,
    in_json,
    kept,
    started,
    without_prefixes,
)

READY = "init engine (profile, create kv cache, warmup model) took 0.82 s"


def within(reading: Reading, text: str) -> bool:
    """Tell whether a size as printed is where a reading has it, and the reading no wider."""
    printed = Reading.rounded(text, GIB)
    return printed.low <= reading.low <= reading.high <= printed.high


@pytest.mark.parametrize(
    ("name", "version", "tokens", "concurrency", "available", "load", "peak", "graphs"),
    [
        ("0.15.1.log", "0.15.1", 179_680, 21.93, "4.8", "2.89", None, "0.35"),
        ("0.20.2_v2.log", "0.20.2", 75_456, 9.21, "2.95", "2.89", None, "0.51"),
        ("0.26.0.log", "0.26.0", 733_776, 89.57, "12.6", "7.46", 0.55, "0.42"),
        ("0.27.1_stock.log", "0.27.1", 282_800, 4.32, "5.88", "14.31", 0.61, "0.13"),
        ("0.27.1_cpu.log", "0.27.1", 131_072, 256.0, "1.0", None, None, "0"),
        (EAGER, "0.33.0", 6_902_048, 105.32, "27.15", "0.34", 0.37, "0"),
        (GRAPH, "0.33.0", 6_865_808, 104.76, "27.01", "0.34", 0.47, "0.04"),
        ("0.33.0_given_size.log", "0.33.0", 6_902_048, 842.54, "27.15", "0.34", None, "0"),
    ],
)
def test_every_dialect_gives_the_same_numbers(
    name, version, tokens, concurrency, available, load, peak, graphs
):
    found = started(kept(name))
    (worker,), (engine,) = found.workers, found.engines
    assert found.settings["vllm"] == version
    assert engine.readings["kv_tokens"] == Reading.exact(tokens)
    assert engine.readings["concurrency"].value == concurrency
    assert within(worker.readings["available_bytes"], available)
    assert ("model_load_bytes" in worker.readings) == (load is not None)
    assert load is None or within(worker.readings["model_load_bytes"], load)
    assert ("activation_peak_bytes" in worker.readings) == (peak is not None)
    assert peak is None or worker.readings["activation_peak_bytes"].value == pytest.approx(peak * GIB, abs=2)
    assert within(worker.readings["graph_actual_bytes"], graphs)


def test_the_byte_exact_line_counts_before_the_rounded_one():
    found = started(kept(EAGER))
    # --kv-cache-memory=28996980736 is 150 MiB less than the budget where no graph was captured.
    exact = 28_996_980_736 + 150 * 2**20
    assert found.workers[0].readings["available_bytes"] == Reading.exact(exact)
    # 4 layers of 4 heads of 264 bytes, and what did not fill a block.
    assert found.engines[0].readings["bytes_per_token"].value == exact / 6_902_048
    assert exact // 4224 // 16 * 16 == 6_902_048


def test_with_graphs_the_exact_line_is_as_open_as_they_are():
    available = started(kept(GRAPH)).workers[0].readings["available_bytes"]
    fitting, margin = 28_799_912_960, 150 * 2**20
    assert available.low == Reading.rounded("27.01", GIB).low
    assert available.high == fitting + margin + Reading.rounded("0.04", GIB).high


def test_a_line_that_contradicts_the_budget_is_not_taken_for_it():
    text = kept(EAGER).replace("--kv-cache-memory=28996980736", "--kv-cache-memory=99996980736")
    available = started(text).workers[0].readings["available_bytes"]
    assert available == Reading.rounded("27.15", GIB)


def test_a_given_size_is_exact_and_ignores_the_utilization():
    found = started(kept("0.33.0_given_size.log"))
    assert found.workers[0].readings["available_bytes"] == Reading.exact(29_154_267_136)
    assert found.readings == {}


def test_the_estimate_of_graphs_is_taken_out_of_the_peak_that_has_it_in():
    readings = started(kept("0.27.1_stock.log")).workers[0].readings
    assert readings["peak_bytes"].value == round(0.73 * GIB)
    assert readings["graph_estimate_bytes"].value == round(0.12 * GIB)
    assert readings["activation_peak_bytes"].value == round(0.73 * GIB) - round(0.12 * GIB)
    assert readings["graph_unbudgeted_bytes"].value == round(0.13 * GIB) - round(0.12 * GIB)


def test_an_estimate_that_is_not_applied_is_not_in_the_budget():
    text = kept("0.27.1_stock.log")
    first, last = "CUDA graph memory profiling is enabled", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0."
    start, end = text.index(first), text.index(last) + len(last)
    found = started(text[:start] + "CUDA graph memory profiling is disabled" + text[end:])
    readings = found.workers[0].readings
    assert readings["graph_applied_bytes"] == Reading.exact(0)
    assert readings["activation_peak_bytes"] == readings["peak_bytes"]
    assert readings["graph_unbudgeted_bytes"] == readings["graph_actual_bytes"]
    assert found.readings["effective_utilization"] == found.readings["requested_utilization"]


def test_graphs_that_the_profile_captured_are_not_those_that_serve():
    text = kept(GRAPH).replace("CUDA graph pool memory: 0.04", "pool: 0.04")
    text = text.replace("Free memory on device", "removed")
    text = text.replace("finished in 6 secs, took 0.04", "finished in 6 secs, took 9.99")
    assert started(text).workers[0].readings["graph_actual_bytes"] == Reading.rounded("0.04", GIB)


@pytest.mark.parametrize(
    ("name", "requested", "effective"),
    [(EAGER, 0.2, (0.2, 0.2, 0.2)), (GRAPH, 0.2, (0.1996, 0.19955, 0.19965)), ("0.20.2_v2.log", None, None)],
)
def test_utilization_is_read_with_its_rounding(name, requested, effective):
    found = started(kept(name)).readings
    if requested is None:
        assert found == {}
        return
    assert found["requested_utilization"] == Reading.exact(requested)
    reading = found["effective_utilization"]
    assert (reading.value, reading.low, reading.high) == pytest.approx(effective)


def test_settings_are_read():
    found = started(kept(GRAPH)).settings
    assert {name: found[name] for name in ("model", "kv_cache_dtype", "max_model_len", "utilization")} == {
        "model": "/models/tiny",
        "kv_cache_dtype": "int4_per_token_head",
        "max_model_len": "65536",
        "utilization": "0.2",
    }
    assert (found["runner"], found["max_num_seqs"], found["speculative_tokens"]) == ("V2", "4", "7")


@pytest.mark.parametrize("spelling", [without_prefixes, in_colour, in_json, in_a_container])
@pytest.mark.parametrize("name", [EAGER, GRAPH])
def test_other_spellings_of_a_log_say_the_same(name, spelling):
    plain, spelled = started(kept(name)), started(spelling(kept(name)))
    assert spelled.settings == plain.settings
    assert [worker.readings for worker in spelled.workers] == [worker.readings for worker in plain.workers]
    assert [engine.readings for engine in spelled.engines] == [engine.readings for engine in plain.engines]


def test_each_worker_has_its_own_budget_and_the_engine_the_smallest():
    found = started(kept("0.11.0_tp2.log"))
    assert [worker.process for worker in found.workers] == ["Worker_TP0", "Worker_TP1"]
    first, second = (worker.readings["available_bytes"] for worker in found.workers)
    assert within(first, "13.00")
    assert within(second, "12.50")
    assert found.workers[0].readings["outside_bytes"] == Reading.rounded("0.21", GIB)
    assert (tightest := found.tightest()) is not None
    assert tightest.process == "Worker_TP1"
    (engine,) = found.engines
    assert engine.readings["bytes_per_token"] == second.over(1_455_920)


def test_an_engine_that_states_several_sizes_has_the_smallest():
    text = kept("0.11.0_tp2.log").replace("1,455,920 tokens", "1,400,000 tokens", 1)
    assert started(text).engines[0].readings["kv_tokens"] == Reading.exact(1_400_000)


def test_data_parallel_engines_go_with_the_workers_of_their_rank():
    lines = []
    for rank, (gib, tokens) in enumerate([("4.00", "100,000"), ("8.00", "100,000")]):
        engine, worker = (
            f"(EngineCore_DP{rank} pid=1{rank}) INFO ",
            f"(Worker_DP{rank}_TP0 pid=2{rank}) INFO ",
        )
        lines += [
            f"{worker}Available KV cache memory: {gib} GiB",
            f"{engine}GPU KV cache size: {tokens} tokens",
            f"{engine}{READY}",
        ]
    found = started("\n".join(lines))
    each = [engine.readings["bytes_per_token"].value for engine in found.engines]
    assert each == [4 * GIB / 100_000, 8 * GIB / 100_000]


def test_processes_of_one_name_are_told_apart():
    lines = [f"(RayWorkerWrapper pid={pid}) INFO Model loading took 1.00 GiB memory" for pid in (5, 6)]
    found = started("\n".join([*lines, READY]))
    assert [worker.process for worker in found.workers] == ["RayWorkerWrapper", "RayWorkerWrapper 2"]


def test_scratch_is_counted_by_where_it_was_allocated():
    found = {
        name: started(kept(f"0.27.1_{name}.log")).workers[0] for name in ("stock", "seed_pool", "seed_after")
    }
    metrics = ("scratch_at_load_bytes", "scratch_after_profile_bytes", "adopted")
    values = {
        name: (*(worker.readings[metric].value for metric in metrics), worker.scratch_lines)
        for name, worker in found.items()
    }
    assert values == {
        "stock": (0, 0, 0, 0),
        "seed_pool": (59_179_008, 0, 2, 4),
        "seed_after": (0, 59_179_008, 0, 2),
    }


def test_builders_of_the_profile_are_gone_when_the_engine_serves_but_what_a_pool_holds_is_not():
    own = (
        "int4 3D scratch: capacity=2 query tokens (min of max_num_batched_tokens=8, min(max_num_seqs=2, "
        "seq_threshold_3D=32) * max_query_len_3d=1): 100 B/row, 0.00 MiB"
    )
    adopted = "int4 3D scratch: capacity=2 query tokens adopted by the metadata builder (derived 2)"
    lines = [
        f"{own} for this instance",
        f"{own}, allocated at model load (inside the memory profile)",
        f"{own}, allocated at the metadata builder (AFTER the memory profile: ...)",
        adopted,
        "Available KV cache memory: 1.00 GiB",
        f"{own} for this instance",
        adopted,
        READY,
    ]
    readings = started("\n".join(lines)).workers[0].readings
    assert readings["scratch_at_load_bytes"].value == 200
    assert readings["scratch_after_profile_bytes"].value == 400
    assert readings["adopted"].value == 1


@pytest.mark.parametrize("name", ["0.11.0_tp2.log", "0.15.1.log", "0.27.1_stock.log", EAGER, GRAPH])
def test_a_log_that_is_cut_off_anywhere_in_the_start_is_refused(name):
    lines = kept(name).splitlines()
    ready = next(number for number, line in enumerate(lines) if "init engine (" in line)
    first = next(number for number, line in enumerate(lines) if "LLM engine (v" in line)
    assert any("KV cache size" in line for line in lines[:ready])
    for end in range(first + 1, ready + 1):
        with pytest.raises(MeasurementError, match="does not end; expected 'init engine"):
            started("\n".join(lines[:end]))


OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 56.00 MiB.",
    "RuntimeError: CUDA out of memory occurred when warming up sampler with 256 dummy requests.",
)
FAILED = (
    "ValueError: No available memory for the cache blocks.",
    "ERROR 11-29 [core.py:1] EngineCore failed to start.",
)


@pytest.mark.parametrize("line", OUT_OF_MEMORY)
def test_an_engine_that_ran_out_of_memory_has_no_budget_though_it_has_tokens(line):
    text = kept(EAGER)
    number = len(text.split("\n"))
    with pytest.raises(MeasurementError, match=rf"^x\.log:{number}: the engine ran out of memory") as raised:
        started(text + line)
    assert line in str(raised.value)


@pytest.mark.parametrize("line", [*FAILED, *OUT_OF_MEMORY])
def test_an_engine_that_did_not_start_has_no_budget(line):
    before, after = kept(EAGER).split("(MainProcess pid=1127) INFO 11-29 20:11:26 [core.py", 1)
    with pytest.raises(MeasurementError, match=r"the engine (failed to start|ran out of memory)"):
        started(f"{before}{line}\n{after}")


@pytest.mark.parametrize("line", FAILED)
def test_how_a_served_engine_was_ended_says_nothing_of_its_budget(line):
    assert started(kept(EAGER) + line) == started(kept(EAGER))


def test_a_second_start_is_refused_by_its_line():
    text = kept("0.15.1.log")
    with pytest.raises(MeasurementError, match=r"x\.log:10: a second engine starts here, after .* line 2;"):
        started(text + text)


def test_ranks_that_start_side_by_side_are_one_start():
    text = kept(EAGER)
    other = text.replace("pid=1127", "pid=1128")
    both = [line for pair in zip(text.split("\n"), other.split("\n"), strict=True) for line in pair]
    assert [worker.process for worker in started("\n".join(both)).workers] == ["MainProcess", "MainProcess 2"]


@pytest.mark.parametrize("text", ["", "hello\n", "INFO: 127.0.0.1 GET /health 200\n" * 3, "\x00\x01"])
def test_a_file_without_a_start_is_refused(text):
    with pytest.raises(MeasurementError, match=r"x\.log: not a line of a start of vLLM"):
        started(text)


def test_a_start_without_its_first_lines_needs_its_last():
    with pytest.raises(MeasurementError, match=r"x\.log: the log ends before the start does"):
        started("Available KV cache memory: 1.00 GiB")


def test_a_negative_budget_is_read_as_one():
    found = started(f"Available KV cache memory: -2.81 GiB\n{READY}")
    assert found.workers[0].readings["available_bytes"].value == round(-2.81 * GIB)
