import json
import subprocess
import sys

import pytest

SEED = ("kv", "plan", "--model", "qwen3.8-27b", "--layout", "seed")
CONFIG = {"num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "num_hidden_layers": 36}


@pytest.mark.parametrize(
    ("sequences", "rows", "total"),
    [
        (1, 16, "14.11"),
        (4, 64, "56.44"),
        (8, 128, "112.88"),
        (16, 256, "225.75"),
        (32, 512, "451.50"),
        (64, 512, "451.50"),
    ],
)
def test_the_seeds_sizes_are_printed(guardrail, sequences, rows, total):
    found = guardrail(*SEED, "--max-num-seqs", str(sequences))
    assert (found.returncode, found.stderr) == (0, "")
    lines = [line.split() for line in found.stdout.splitlines()]
    assert ["qwen3.8-27b", str(rows), "396288"] in [line[:3] for line in lines]
    assert ["qwen3.8-27b-dflash2", str(rows), "528384"] in [line[:3] for line in lines]
    assert f"2 sets, {rows * 924_672} bytes, {total} MiB in all" in found.stdout


def test_a_plan_is_printed_with_where_and_what_a_token_costs(guardrail):
    found = guardrail(
        *SEED, "--max-num-seqs", "4", "--capture-sizes", "1,2,4,8,16,32,64", "--draft-depth", "7"
    )
    assert [line.rstrip() for line in found.stdout.splitlines()] == [
        "int4_attention.seed_pool: layout seed on h200, at most 4 sequences and 2048 tokens a batch",
        "",
        "used by              rows  bytes/row  slots  bytes/slot  MiB    allocated at",
        "qwen3.8-27b          64    396288     1024   24768       24.19  model load",
        "qwen3.8-27b-dflash2  64    528384     1024   33024       32.25  model load",
        "",
        "2 sets, 59179008 bytes, 56.44 MiB in all",
        "KV cache: 22336 bytes a token (qwen3.8-27b 16896, qwen3.8-27b-dflash2 5440), before page padding",
        "A verify step of 4 sequences with 8 query tokens each is 32 query tokens and takes the split-KV "
        "arm.",
    ]


def test_capture_sizes_move_the_threshold(guardrail):
    found = guardrail(*SEED, "--max-num-seqs", "64", "--capture-sizes", "1,2,4,8")
    assert "118358016 bytes, 112.88 MiB in all" in found.stdout


def test_without_drafting_there_is_no_drafter(guardrail):
    found = guardrail(*SEED, "--max-num-seqs", "4", "--draft-depth", "0")
    assert "1 set, 25362432 bytes, 24.19 MiB in all\nKV cache: 16896 bytes a token, before" in found.stdout


def test_our_layout_is_the_default_and_depends_on_the_device(guardrail):
    asked = ("kv", "plan", "--model", "qwen3.8-27b", "--max-num-seqs", "32", "--json")
    documents = [json.loads(guardrail(*asked, "--device", device).stdout) for device in ("h200", "rtx3090")]
    assert [document["pools"][0]["subject"] for document in documents] == ["int4_attention.pool"] * 2
    sizes = [document["pools"][0]["bytes"] for document in documents]
    assert sizes[0] != sizes[1]
    assert max(sizes) < 512 * 924_672


def test_the_plan_is_printed_for_machines(guardrail):
    found = guardrail(*SEED, "--max-num-seqs", "1", "--max-num-batched-tokens", "8", "--json")
    (pool,) = json.loads(found.stdout)["pools"]
    assert pool["sets"][0] == {
        "models": ["qwen3.8-27b"],
        "rows": 8,
        "slots": 128,
        "slot_bytes": 24_768,
        "origin": "model load",
        "profiled": True,
        "bytes": 3_170_304,
        "row_bytes": 396_288,
        "mib": 3.02,
    }
    assert (pool["bytes"], pool["mib"]) == (7_397_376, 7.05)
    assert pool["kv_token_bytes"] == {"qwen3.8-27b": 16_896, "qwen3.8-27b-dflash2": 5_440}


@pytest.mark.parametrize("name", ["config.json", "model"])
def test_a_model_s_config_will_do(guardrail, folder, name):
    file = folder / "config.json" if name == "config.json" else folder / "model" / "config.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"text_config": CONFIG}))
    found = guardrail("kv", "plan", "--model", name, "--max-num-seqs", "1", "--layout", "seed")
    assert (found.returncode, found.stderr) == (0, "")
    # 32 heads x 16 segments x (128 + 2) x 4 bytes; 36 layers x 8 heads x 136 bytes.
    assert [name, "16", "266240"] in [line.split()[:3] for line in found.stdout.splitlines()]
    assert "1 set, 4259840 bytes, 4.06 MiB in all\nKV cache: 39168 bytes a token" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model", "qwen3.8-27"), "no such model profile and no config.json; did you mean 'qwen3.8-27b'?"),
        (("--model", "gone/config.json"), "gone/config.json: there is no such file; expected a model's"),
        (("--model", "tiny.yaml"), "tiny.yaml: the file is not JSON"),
        (("--device", "h20"), "--device h20: there is no such device profile; did you mean 'h200'?"),
        (("--layout", "sed"), "--layout sed: no family has it; did you mean 'seed'?"),
        (("--capture-sizes", "1,2,2"), "--capture-sizes 1,2,2: expected ascending whole numbers from 1 on"),
        (("--capture-sizes", "0,1"), "--capture-sizes 0,1: expected ascending"),
        (("--capture-sizes", "8,4"), "--capture-sizes 8,4: expected ascending"),
        (("--capture-sizes", "1,,2"), "--capture-sizes 1,,2: expected ascending"),
        (("--capture-sizes", "1,-2"), "--capture-sizes 1,-2: expected ascending"),
    ],
)
def test_an_option_that_cannot_be_is_a_usage_error(guardrail, arguments, message):
    defaults = {"--model": "qwen3.8-27b", "--max-num-seqs": "1"} | dict([arguments])
    found = guardrail("kv", "plan", *(word for pair in defaults.items() for word in pair))
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("guardrail: ")
    assert message in found.stderr


def test_a_config_without_its_geometry_names_every_missing_key(guardrail, folder):
    (folder / "config.json").write_text("{}")
    found = guardrail("kv", "plan", "--model", "config.json", "--max-num-seqs", "1")
    assert found.returncode == 2
    assert "the key 'num_attention_heads' is missing" in found.stderr
    assert "the key 'num_key_value_heads' is missing" in found.stderr


def test_a_plan_imports_no_device_library(folder):
    program = (
        "import sys; from guardrail.cli.main import app; "
        "app(['kv', 'plan', '--model', 'qwen3.8-27b', '--max-num-seqs', '1'], standalone_mode=False); "
        "print(sorted({'torch', 'triton', 'numpy'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert found.stdout.endswith("\n[]\n")
