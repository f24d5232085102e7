"""Guards on engines, booted and running, as a user has them: a guards file and descriptions beside it."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from guardrail.spec.engine_files import load_engine
from helpers.engines import fake_engine, server_engine
from helpers.openai_server import Served, serving

EXAMPLE = Path(__file__).parents[2] / "examples" / "vllm"

SERVING = """
version: 1
guards:
  - id: decode
    title: a request that has the server to itself is decoded in steps of 3 tokens
    probe: serving
    subject: server.yaml
    control: slow.yaml
    largest_load: 1000
    workload: {requests: 7, prompt_tokens: 16, new_tokens: 16}
    require:
      ms_per_step: {ceiling: 15}
      tokens_per_step: {floor: 2.9, ceiling: 3.1}
"""
WARM = """
version: 1
guards:
  - id: replay
    title: a boot that loads compiled code is as fast as the one that compiled it
    probe: serving
    subject: engine.yaml
    largest_load: 1000
    cache: arm
    rounds: 2
    workload: {requests: 7, new_tokens: 8}
    require:
      warm_step_ratio: {ceiling: 2}
"""
LOGITS = """
version: 1
guards:
  - id: verify
    title: a verify step of 8 query tokens has the logits of stock
    probe: vllm_logits
    subject: engine.yaml
    reference: stock.yaml
    control: wrong.yaml
    query_tokens: [8]
    require:
      max_abs_delta: {ceiling: 0.01}
      kl: {ceiling: 0.001}
"""
BUDGET = """
version: 1
guards:
  - id: budget
    title: the engine has room for 4000 tokens
    probe: kv_budget
    subject: engine.yaml
    require:
      kv_tokens: {floor: 4000}
"""
QUALITY = """
version: 1
guards:
  - id: quality
    title: the text is as likely as it was
    probe: quality
    subject: server.yaml
    texts: [{{file: text.txt, hash: "sha256:{digest}"}}]
    window_characters: 20
    require:
      perplexity: {{ceiling: 4.5}}
"""


def only(found):
    (guard,) = json.loads(found.stdout)["guards"]
    return guard


def test_a_running_server_is_guarded_and_a_slow_one_turns_it_red(guardrail, folder):
    (folder / "guards.yaml").write_text(SERVING)
    with serving(Served(tokens_per_chunk=3)) as fast, serving(Served(step_seconds=0.03)) as slow:
        server_engine(folder, fast.url)
        server_engine(folder, slow.url, "slow.yaml")
        found = guardrail("check", "--format", "json")
        assert (found.returncode, only(found)["status"]) == (0, "pass")
        control = guardrail("check", "--self-test", "--format", "json")
        assert (control.returncode, only(control)["status"]) == (0, "pass")
    assert len(fast.asked) == 8


def test_a_server_that_is_not_there_is_an_error(guardrail, folder):
    (folder / "guards.yaml").write_text(SERVING)
    with serving(Served()) as served:
        server_engine(folder, served.url)
        server_engine(folder, served.url, "slow.yaml")
    found = guardrail("check", COLUMNS="1000")
    assert found.returncode == 3
    assert f"the server at {served.url} broke off" in found.stdout


@pytest.mark.parametrize(("seconds", "code"), [(0.0, 0), (0.02, 1)])
def test_an_artifact_that_is_slow_when_loaded_is_red(guardrail, folder, seconds, code):
    (folder / "guards.yaml").write_text(WARM)
    fake_engine(folder, own_cache=False, step_seconds=0.006, warm_seconds=seconds)
    found = guardrail("check", "--format", "json")
    assert found.returncode == code
    sentences = [finding["sentence"] for finding in only(found)["measurements"][-1]["findings"]]
    caches = [sentence for sentence in sentences if sentence.startswith("compile cache arm, round ")]
    assert caches[0].startswith("compile cache arm, round 1: compiled vllm cold -> files: 1, sha256:")
    assert caches[1].startswith("compile cache arm, round 2: compiled nothing; ")


def test_a_verify_step_is_guarded_where_the_first_step_is_right(guardrail, folder):
    (folder / "guards.yaml").write_text(LOGITS)
    for name, error in (("engine.yaml", 0), ("stock.yaml", 0), ("wrong.yaml", "0.5")):
        fake_engine(folder, name, verify_error=error)
    assert guardrail("check").returncode == 0
    (folder / "engine.yaml").write_bytes((folder / "wrong.yaml").read_bytes())
    guard = only(guardrail("check", "--format", "json"))
    red = {verdict["where"]["step"] for verdict in guard["verdicts"] if verdict["status"] == "fail"}
    assert red == {"8 query tokens"}


def test_an_engine_is_booted_for_its_budget(guardrail, folder):
    (folder / "guards.yaml").write_text(BUDGET)
    fake_engine(folder)
    assert guardrail("check").returncode == 0
    assert guardrail("check", "--format", "json", "--output", "run.json").returncode == 0
    assert guardrail("check", "--from", "run.json").returncode == 0
    fake_engine(folder, speculation=True)
    assert guardrail("check", "--from", "run.json").returncode == 3


def test_a_description_with_a_fault_names_its_line(guardrail, folder):
    (folder / "guards.yaml").write_text(BUDGET)
    (folder / "engine.yaml").write_text("engine: vllm\narguments: {model: m}\npyhton: python3\n")
    found = guardrail("check", COLUMNS="1000")
    assert found.returncode == 3
    assert "engine.yaml:3: unknown key 'pyhton'; did you mean 'python'?" in found.stdout


def test_quality_is_measured_on_pinned_files_alone(guardrail, folder):
    content = "the quick brown fox " * 20
    digest = hashlib.sha256(content.encode()).hexdigest()
    (folder / "text.txt").write_text(content)
    (folder / "guards.yaml").write_text(QUALITY.format(digest=digest))
    with serving(Served()) as served:
        server_engine(folder, served.url)
        assert guardrail("check").returncode == 0
        (folder / "text.txt").write_text(content + "more")
        found = guardrail("check", COLUMNS="1000")
    assert found.returncode == 3
    assert "put the agreed file back" in found.stdout


def test_a_verify_step_is_dumped(guardrail, folder):
    fake_engine(folder, "right.yaml")
    fake_engine(folder, "wrong.yaml", verify_error="0.5")
    prompt = ",".join(map(str, range(40)))
    for name in ("right", "wrong"):
        for step, words in (("first", ()), ("verify", ("--query-tokens", "8"))):
            dumped = guardrail(
                "logits", "dump", "--vllm", f"{name}.yaml", "--prompt-ids", prompt, *words,
                "-o", f"{name}-{step}.safetensors",
            )  # fmt: skip
            assert (dumped.returncode, dumped.stderr) == (0, "")
    first = guardrail("logits", "compare", "right-first.safetensors", "wrong-first.safetensors")
    verify = guardrail("logits", "compare", "right-verify.safetensors", "wrong-verify.safetensors")
    assert (first.returncode, verify.returncode) == (0, 4)
    assert guardrail("logits", "dump", "--vllm", "right.yaml", "-o", "x.safetensors").returncode == 2
    other = guardrail("logits", "dump", "--hf", ".", "--query-tokens", "8", "-o", "x.safetensors")
    assert (other.returncode, "--query-tokens goes with --vllm" in other.stderr) == (2, True)


def test_the_example_s_guards_and_descriptions_are_well_formed(guardrail, folder):
    shutil.copytree(EXAMPLE, folder / "vllm")
    engines = {path.stem: load_engine(path) for path in (folder / "vllm" / "engines").glob("*.yaml")}
    assert {name: engine.engine for name, engine in engines.items()} == dict.fromkeys(
        ("guardrail", "stock", "float32", "wrong"), "vllm"
    )
    # Arms of one comparison differ in nothing but the plug-in.
    assert engines["guardrail"].arguments == engines["stock"].arguments
    assert guardrail("show", "live-verify", "--guards", "vllm/live.yaml").returncode == 0
    found = guardrail("check", "--guards", "vllm/live.yaml", "--only", "live-step")
    assert (found.returncode, "this machine has no GPU" in found.stdout) == (5, True)
