import json
from pathlib import Path

import pytest

from guardrail.errors import MeasurementError
from guardrail.results.readers import READERS

DATA = Path(__file__).parents[2] / "data" / "results"


def opened(reader, file):
    return READERS[reader]((DATA / file).read_text(), file)


def refused(reader, text, selector="x"):
    with pytest.raises(MeasurementError) as caught:
        READERS[reader](text, "bench").series(selector)
    return str(caught.value)


def test_llama_bench_names_its_tests_and_keeps_every_sample():
    output = opened("llama-bench", "llama_bench.json")
    prompt = output.series("pp512")
    assert (prompt.samples, prompt.unit) == ((6863.1, 7147.55, 7136.37, 7115.79, 7237.21), "tokens/s")
    assert prompt.times == (74601900, 71632900, 71745200, 71952700, 70745500)
    assert (output.stated("n_batch", prompt), output.stated("model_type", prompt)) == (
        2048,
        "qwen2 7B Q4_K - Medium",
    )
    decode = output.series("tg128@d4096")
    assert decode.samples == (118.874, 119.07, 118.738)
    assert {key: decode.workload[key] for key in ("n_prompt", "n_gen", "n_depth")} == {
        "n_prompt": 0, "n_gen": 128, "n_depth": 4096,
    }  # fmt: skip


def test_llama_bench_one_test_a_line_is_the_same():
    tests = json.loads((DATA / "llama_bench.json").read_text())
    lines = "\n".join(map(json.dumps, tests))
    assert READERS["llama-bench"](lines, "bench").series("pp512").samples[0] == 6863.1


def test_llama_bench_in_another_shape_is_refused():
    assert refused("llama-bench", "| model | t/s |") == (
        "bench: expected JSON in the output; its last line is '| model | t/s |'"
    )
    assert refused("llama-bench", '[{"n_gen": 8}]') == "bench: expected samples_ts of tg8; use -o json"
    assert refused("llama-bench", "[{}]") == "bench: a test has neither n_prompt nor n_gen"
    twice = json.dumps([{"n_gen": 8, "samples_ts": [1.0]}] * 2)
    assert refused("llama-bench", twice) == "bench: tg8 is measured twice; run one configuration at a time"
    assert refused("llama-bench", '[{"n_gen": 8, "samples_ts": [1.0]}]', "tg9") == (
        "bench measures no 'tg9'; it measures tg8"
    )


def test_vllm_bench_gives_rates_latencies_and_the_workload():
    output = opened("vllm-bench", "vllm_bench_serve.json")
    rate = output.series("output_throughput")
    assert (rate.samples, rate.unit) == ((60.95,), "tokens/s")
    assert (output.series("mean_tpot_ms").samples, output.series("mean_tpot_ms").unit) == ((16.4,), "ms")
    assert output.series("ttfts").samples == (0.0121, 0.0118, 0.0125, 0.0119, 0.0122)
    assert output.stated("num_prompts", rate) == 5
    assert output.stated("total_output_tokens", rate) == 640
    with pytest.raises(MeasurementError, match="states no 'n_gen'; it states completed, "):
        output.stated("n_gen", rate)


def test_vllm_bench_with_failed_requests_is_no_measurement():
    assert refused("vllm-bench", '{"failed": 2, "output_throughput": 5.0}') == "bench: 2 requests failed"


def test_vllm_bench_latency_gives_every_iteration():
    output = READERS["vllm-bench"](
        '{"avg_latency": 1.5, "latencies": [1.4, 1.6], "percentiles": {}}', "bench"
    )
    assert (output.series("latencies").samples, output.series("latencies").unit) == ((1.4, 1.6), "s")
    assert output.series("avg_latency").samples == (1.5,)


def test_nvbench_names_states_by_their_axes_and_passes_over_skipped_ones():
    output = opened("nvbench", "nvbench.json")
    cold = output.series("copy[Elements=1048576]/cold_gpu_time")
    assert (cold.samples, cold.unit) == ((1.25e-05,), "s")
    assert output.series("copy[Elements=1048576]/batch_gpu_time").samples == (9.5e-06,)
    assert output.stated("Elements", cold) == 1048576
    with pytest.raises(MeasurementError, match="measures no"):
        output.series("copy[Elements=1099511627776]/cold_gpu_time")
    assert (
        refused("nvbench", '{"benchmarks": [3]}')
        == "bench: expected a list of benchmarks, as NVBench writes it"
    )


def test_pytest_benchmark_gives_rounds_or_the_median_alone():
    output = opened("pytest-benchmark", "pytest_benchmark.json")
    step = output.series("tests/test_step.py::test_step[8]")
    assert (step.samples, step.unit) == ((0.00101, 0.00103, 0.00103, 0.00109), "s")
    assert output.stated("batch", step) == 8
    assert output.series("tests/test_step.py::test_load").samples == (1.25,)


def test_google_benchmark_takes_repetitions_and_not_their_mean():
    output = opened("google-benchmark", "google_benchmark.json")
    real = output.series("BM_dot/4096/real_time")
    assert (real.samples, real.unit) == ((12.5, 12.7), "us")
    rate = output.series("BM_dot/4096/bytes_per_second")
    assert (rate.samples, rate.unit) == ((1.31e9, 1.29e9), "bytes/s")
    failed = '{"benchmarks": [{"name": "BM", "error_occurred": true, "error_message": "no memory"}]}'
    assert refused("google-benchmark", failed) == "bench: BM: no memory"
    other = '{"benchmarks": [{"name": "BM", "real_time": 1.0, "time_unit": "h"}]}'
    assert refused("google-benchmark", other) == "bench: BM: time_unit is 'h', not one of ns, us, ms, s"


def request(times, **stated):
    return {"content_times": times, "completion_tokens": 5, **stated}


def test_decode_counts_tokens_and_never_chunks():
    document = {"requests": [request([1.0, 1.5, 3.0], text="ab", steps=3)]}
    output = READERS["decode"](json.dumps(document), "bench")
    assert output.series("tokens_per_second").samples == (2.5,)
    assert output.series("isolated_tokens_per_second").samples == (2.0,)
    step = output.series("decode")
    assert (step.samples, step.unit) == ((1000.0,), "ms/step")
    assert step.workload == {"requests": 1}
    assert output.series("tokens_per_second").workload == {"requests": 1, "steps": 3, "completion_tokens": 5}
    assert step.notes == {"steps": 3, "completion_tokens": 5, "text_sha256": "fb8e20fc2e4c3f24"}
    assert step.times == (0.0, 0.5, 2.0)


def test_decode_takes_chunks_for_steps_where_none_are_stated():
    document = {"requests": [request([0.0, 1.0, 2.0]), request([5.0, 6.0])]}
    step = READERS["decode"](json.dumps(document), "bench").series("decode")
    assert step.samples == (1000.0, 1000.0)
    assert step.notes == {"steps": 5, "completion_tokens": 10}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"requests": []}, "bench: there are no requests"),
        ({}, "bench: expected a list of requests"),
        ({"requests": [request([1.0])]}, "bench: requests[0]: expected two content_times or more, ascending"),
        (
            {"requests": [request([2.0, 1.0])]},
            "bench: requests[0]: expected two content_times or more, ascending",
        ),
        (
            {"requests": [request([1.0, 1.0])]},
            "bench: requests[0]: expected two content_times or more, ascending",
        ),
        (
            {"requests": [request([1.0, 2.0], completion_tokens=1)]},
            "bench: requests[0]: completion_tokens: expected a whole number of 2 or more, not '1'",
        ),
        (
            {"requests": [request([1.0, "2"])]},
            "bench: requests[0]: content_times: expected a finite number, not '2'",
        ),
    ],
)
def test_decode_refuses_times_that_tell_nothing(document, message):
    assert refused("decode", json.dumps(document)) == message
