import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.kv_logs import EAGER, GRAPH, LOGS

EXAMPLE = Path(__file__).parents[2] / "examples" / "vllm"


@pytest.fixture(autouse=True)
def logs(folder):
    for name in (EAGER, GRAPH, "0.11.0_tp2.log", "0.27.1_stock.log", "0.27.1_seed_pool.log"):
        shutil.copy(LOGS / name, folder)


def lines(found: subprocess.CompletedProcess[str]) -> list[str]:
    return [" ".join(line.split()) for line in found.stdout.splitlines()]


def test_the_budget_of_a_start_is_printed(guardrail):
    found = guardrail("kv", "log", EAGER)
    assert (found.returncode, found.stderr) == (0, "")
    assert lines(found) == [
        f"{EAGER}: vllm 0.33.0, model /models/tiny, kv_cache_dtype int4_per_token_head, max_model_len 65536, "
        "utilization 0.2, runner V2, enforce_eager True",
        "",
        "MainProcess MiB rounding bytes",
        "requested 28631.04 ± 5.12 30021821399",
        "- model but scratch 348.16 ± 5.12 365072220",
        "- scratch at load 0.00 exact 0",
        "- outside the allocator 92.16 ± 10.24 96636764",
        "- activation peak 378.88 ± 5.12 397284475",
        "- estimate of graphs 0.00 exact 0",
        "= KV cache 27803.68 exact 29154267136",
        "beside: captured graphs 0.00 exact 0",
        "beside: graphs beyond their estimate 0.00 exact 0",
        "beside: scratch after the profile 0.00 exact 0",
        "",
        "MainProcess: 6,902,048 tokens, 4224 bytes a token, 105.32 requests of 65,536 tokens",
        "utilization: 0.2 requested, 0.2 but for captured graphs",
    ]


def test_a_difference_is_explained_by_component(guardrail):
    found = guardrail("kv", "log", "0.27.1_seed_pool.log", "--against", "0.27.1_stock.log")
    assert (found.returncode, found.stderr) == (0, "")
    printed = lines(found)
    start = printed.index("against 0.27.1_stock.log, by EngineCore:")
    assert printed[start:] == [
        "against 0.27.1_stock.log, by EngineCore:",
        "",
        "MiB before now taken rounding",
        "scratch at load 0.00 56.44 56.44 exact",
        "model but scratch 14653.44 14658.44 5.00 ± 10.24",
        "outside the allocator 296.96 296.96 0.00 ± 20.48",
        "activation peak 624.64 624.64 0.00 ± 20.48",
        "estimate of graphs 122.88 122.88 0.00 ± 10.24",
        "requested memory 21719.04 21719.04 0.00 exact",
        "= taken from the KV cache 6021.12 5969.92 51.20 ± 7.62",
        "no line accounts for -10.24 ± 28.10",
        "",
        "kv_tokens fell by 2,656, from 282,800 to 280,144",
        "available_bytes of EngineCore fell by 51.20 MiB ± 7.6",
        "model_load_bytes of EngineCore rose by 61.44 MiB ± 10.2",
        "scratch at load took 56.44 MiB",
        "the parts account for the difference to within the rounding of the logs",
    ]


def test_every_worker_is_printed_and_which_limits_all(guardrail):
    printed = lines(guardrail("kv", "log", "0.11.0_tp2.log"))
    assert "Worker_TP0 MiB rounding bytes" in printed
    assert "Worker_TP1 MiB rounding bytes" in printed
    assert printed[-1] == "Worker_TP1 has the least for the KV cache, which limits every worker"


def test_a_saved_start_stands_for_its_log(guardrail, folder):
    plain = guardrail("kv", "log", GRAPH, "--against", EAGER)
    (folder / "eager.json").write_text(guardrail("kv", "log", EAGER, "--json").stdout)
    (folder / "graph.json").write_text(guardrail("kv", "log", GRAPH, "--json").stdout)
    again = guardrail("kv", "log", "graph.json", "--against", "eager.json")
    assert again.stdout == plain.stdout.replace(GRAPH, "graph.json").replace(EAGER, "eager.json")


def test_the_comparison_is_printed_for_machines(guardrail):
    found = json.loads(guardrail("kv", "log", GRAPH, "--against", EAGER, "--json").stdout)
    assert (found["format"], found["comparison"]["against"]) == ("guardrail-kv-log", EAGER)
    assert found["comparison"]["explained"] is True
    assert found["comparison"]["parts"]["estimate of graphs"] == [53_687_091, 48_318_382, 59_055_800]
    assert found["comparison"]["changed_settings"] == [
        "compile_cache: not stated -> compiled",
        "enforce_eager: True -> False",
    ]
    assert found["engines"][0]["readings"]["kv_tokens"] == [6_865_808] * 3


def test_other_engines_are_compared_only_when_told(guardrail):
    asked = ("kv", "log", "0.27.1_stock.log", "--against", EAGER)
    found = guardrail(*asked)
    assert (found.returncode, found.stdout) == (2, "")
    assert f"vllm is 0.33.0 in {EAGER} and 0.27.1 in 0.27.1_stock.log" in found.stderr
    assert f"utilization is 0.2 in {EAGER} and 0.9 in 0.27.1_stock.log" in found.stderr
    ignored = [word for name in ("vllm", "model", "utilization") for word in ("--ignore", name)]
    found = guardrail(*asked, *ignored)
    assert (found.returncode, found.stderr) == (0, "")
    assert "started differently:" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("gone.log",), 2, "gone.log: cannot be read: No such file or directory; expected a log of vLLM"),
        (("tiny.yaml",), 3, "tiny.yaml: not a line of a start of vLLM"),
        ((EAGER, "--against", "gone.log"), 2, "gone.log: cannot be read"),
        ((EAGER, "--against", EAGER, "--ignore", "modl"), 2, "no such setting; did you mean 'model'?"),
        ((EAGER, "--ignore", "model"), 2, "--ignore goes with --against only"),
        (("cut.log",), 3, "cut.log: the start that begins on line 13 does not end"),
        (("warm.log", "--against", GRAPH), 2, f"compile_cache is compiled in {GRAPH} and loaded in warm.log"),
        (("died.log",), 3, "died.log:51: the engine ran out of memory, so its budget is no measurement"),
    ],
)
def test_what_cannot_be_read_is_an_error(guardrail, folder, arguments, code, message):
    text = (folder / EAGER).read_bytes()
    (folder / "cut.log").write_bytes(text[: text.index(b"init engine (")])
    (folder / "died.log").write_bytes(text + b"torch.OutOfMemoryError: CUDA out of memory. Tried\n")
    warm = (folder / GRAPH).read_bytes().replace(b"Compiling a graph", b"Directly load the compiled graph")
    (folder / "warm.log").write_bytes(warm)
    found = guardrail("kv", "log", *arguments)
    assert (found.returncode, found.stdout) == (code, "")
    assert found.stderr.startswith("guardrail: ")
    assert message in found.stderr


def test_what_an_engine_does_not_know_or_compiled_late_is_said(guardrail, folder):
    (folder / "warned.log").write_bytes(
        (folder / GRAPH).read_bytes()
        + b"WARNING Unknown vLLM environment variable detected: VLLM_MQ3D\n"
        + b"WARNING Triton kernel JIT compilation during inference: attend. This causes a latency spike\n"
    )
    printed = lines(guardrail("kv", "log", "warned.log"))
    assert printed[-2:] == [
        "vLLM does not know the variable VLLM_MQ3D, so it changed nothing: is it misspelt?",
        "compiled after the start, as requests waited: attend",
    ]
    clean = guardrail("kv", "log", GRAPH).stdout
    assert not any(word in clean for word in ("does not know", "after the start"))


def test_a_log_is_read_without_device_libraries(folder):
    program = (
        "import sys; from guardrail.cli.main import app; "
        f"app(['kv', 'log', '{EAGER}'], standalone_mode=False); "
        "print(sorted({'torch', 'triton', 'numpy'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert found.stdout.endswith("\n[]\n")


@pytest.fixture
def example(folder):
    shutil.copytree(EXAMPLE, folder / "vllm")
    return ("--guards", "vllm/guards.yaml", "--only", "kv-*")


def test_the_example_s_guards_hold_and_each_was_seen_to_fail(guardrail, example):
    found = guardrail("check", *example, "--format", "json")
    assert (found.returncode, found.stderr) == (0, "")
    statuses = {guard["id"]: guard["status"] for guard in json.loads(found.stdout)["guards"]}
    assert statuses == dict.fromkeys(("kv-tokens", "kv-scratch", "kv-planned", "kv-graphs"), "pass")
    tested = guardrail("check", *example, "--self-test")
    assert tested.returncode == 0, tested.stdout


def test_a_start_that_lost_its_budget_fails_every_guard_of_the_example(guardrail, folder, example):
    shutil.copy(folder / "vllm" / "logs" / "broken.log", folder / "vllm" / "logs" / "guardrail.log")
    found = guardrail("check", *example)
    assert found.returncode == 1
    assert "scratch_after_profile_bytes is 67633152 bytes, must be exactly 0" in found.stdout
    assert "kv_tokens is 216304 tokens, must be at least 280000" in found.stdout
    assert "4 guards: 4 fail" in found.stdout


def test_a_saved_run_is_judged_again_and_refused_for_another_log_of_either_start(guardrail, folder, example):
    assert guardrail("check", *example, "--format", "json", "--output", "run.json").returncode == 0
    assert guardrail("check", *example, "--from", "run.json").returncode == 0
    stock = folder / "vllm" / "logs" / "stock.log"
    stock.write_text(stock.read_text() + "one more line\n")
    found = guardrail("check", *example, "--from", "run.json")
    assert found.returncode == 3
    assert "measured logs/guardrail.log from other sources" in found.stdout
    assert "4 guards: 3 pass, 1 error" in found.stdout
    stock.unlink()
    found = guardrail("check", *example)
    assert found.returncode == 2
    assert "logs/stock.log" in found.stderr
