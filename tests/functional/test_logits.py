"""Dumps and comparisons as a user makes them."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.logit_dumps import write

MANIFEST = """
from guardrail.families import Engine, Family

FAMILY = Family(
    name="planted",
    title="an engine whose gate forgot its upper bound",
    engines=(
        Engine("engine", "guardrail.kernels.reference_decode.faulty_logits:start_with_unbounded_gate"),
    ),
)
"""

TINY = ("--model", "tiny-decode", "--option", "matvec_threshold=0", "--option", "block_units=32")
PROMPT = ("--prompt-ids", "3")
CLASS = ("--class-from", "v1.safetensors", "shipped.safetensors")


def test_work_that_a_gate_dropped_is_different_though_the_argmax_survives(guardrail, folder):
    (folder / "planted_family.py").write_text(MANIFEST)
    dumps = {
        "v1": ("reference_decode", "--arm", "v1"),
        "shipped": ("reference_decode",),
        "planted": ("planted_family:FAMILY",),
    }
    for name, source in dumps.items():
        made = guardrail("logits", "dump", *source, *TINY, *PROMPT, "-o", f"{name}.safetensors")
        assert (made.returncode, made.stderr) == (0, "")
    assert "prompt  3\n" in made.stdout
    assert "arm     ffn_down: v2_pf_dpl in 1 of the model's matrices\n" in made.stdout

    shipped = guardrail("logits", "compare", "v1.safetensors", "shipped.safetensors", "--json")
    assert shipped.returncode == 4
    rounding = json.loads(shipped.stdout)
    assert rounding["class"] == "unclassified"
    assert rounding["logits"]["delta"]["max_abs"] < 1e-5
    assert [tensor["name"] for tensor in rounding["tensors"]] == ["blk.0.kv", "blk.1.kv"]

    planted = guardrail("logits", "compare", "v1.safetensors", "planted.safetensors", *CLASS, "--json")
    assert (planted.returncode, planted.stderr) == (1, "")
    found = json.loads(planted.stdout)
    assert found["class"] == "different"
    assert found["multiple"] > 1e4
    (ranking,) = found["logits"]["rankings"]
    assert ranking["argmax"][0] == ranking["argmax"][1]


@pytest.fixture
def dumps(folder: Path) -> Path:
    """Dumps of made-up logits: a trusted one, a pair that rounds by 0.25, and others."""
    base = np.array([1.0, 9.0, 3.0, 4.0], dtype=np.float32)
    for name, third in {"a": 3.0, "same": 3.0, "pair": 3.25, "close": 3.5, "far": 7.75}.items():
        base[2] = third
        write(folder / f"{name}.safetensors", base)
    base[2] = np.nan
    write(folder / "nan.safetensors", base)
    base[2] = 3.0
    write(folder / "prompt.safetensors", base, prompts=((3, 18),))
    write(folder / "step.safetensors", base, step=4)
    (folder / "cut.safetensors").write_bytes((folder / "a.safetensors").read_bytes()[:100])
    base.tofile(folder / "raw.f32")
    return folder


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("same",), 0, "class: bitwise: every byte is equal"),
        (
            ("close", "--class-from", "a", "pair"),
            0,
            "class: rounding: 1 of 4 logits differ, by 0.5 at most: 2 x",
        ),
        (
            ("far", "--class-from", "a", "pair"),
            1,
            "class: different: 1 of 4 logits differ, by 4.75 at most: 19 x",
        ),
        (("close",), 4, "class: unclassified: "),
        (("nan",), 1, "class: different: 0 and 1 logits are NaN or infinite"),
        (("prompt",), 2, "guardrail: refused: sequence 0 has other tokens before its logits: token 1 is 17"),
        (("step",), 2, "guardrail: refused: a.safetensors is of step 0, step.safetensors of step 4"),
        (("close", "--class-from", "a", "close"), 2, "a pair cannot vouch for itself"),
        (("close", "--class-from", "a"), 2, "guardrail: --class-from takes two dumps"),
        (
            ("close", "--plot", "a.png"),
            2,
            "guardrail: --plot a.png: expected a name that ends with .svg or .html",
        ),
        (("cut",), 3, "guardrail: cut.safetensors: not a readable .safetensors file"),
        (("none",), 2, "guardrail: none.safetensors: there is no such file"),
        (("./a.safetensors",), 2, "guardrail: a.safetensors is given twice; a dump compared with itself"),
        (("close", "--class-from", "far", "far"), 2, "guardrail: far.safetensors is given twice"),
        (("close", "--factor", "3"), 2, "guardrail: --factor goes with --class-from"),
        (("close", "--shape", "2,2"), 2, "guardrail: --shape is for a raw .f32 file"),
        (("raw.f32", "--shape", "1,5"), 3, "guardrail: raw.f32: 4 elements do not fill the shape [1, 5]"),
        (
            ("raw.f32", "--shape", "1,4", "--vocabulary", "4"),
            2,
            "guardrail: --shape and --vocabulary are both",
        ),
    ],
)
def test_a_comparison_says_its_class_and_leaves_with_its_code(guardrail, dumps, words, code, said):
    files = [f"{word}.safetensors" if word.isalpha() else word for word in words]
    found = guardrail("logits", "compare", "a.safetensors", *files)
    assert (found.returncode, found.stdout if code in (2, 3) else found.stderr) == (code, "")
    assert said in (found.stderr if code in (2, 3) else found.stdout)


def test_two_nan_dumps_of_equal_bytes_do_not_pass(guardrail, dumps):
    (dumps / "nan2.safetensors").write_bytes((dumps / "nan.safetensors").read_bytes())
    assert guardrail("logits", "compare", "nan.safetensors", "nan2.safetensors").returncode == 1


def test_no_delta_is_printed_where_no_number_is_finite_in_both(guardrail, dumps):
    for name in ("one", "two"):
        write(dumps / f"{name}.safetensors", [np.nan, np.inf])
    found = guardrail("logits", "compare", "one.safetensors", "two.safetensors")
    assert found.returncode == 1
    assert "|delta|     -\n" in found.stdout


def test_a_raw_file_is_compared_with_a_note_and_drawn(guardrail, dumps):
    found = guardrail("logits", "compare", "a.safetensors", "raw.f32", "--plot", "delta.svg")
    assert found.returncode == 0
    assert "note: raw.f32 does not state the prompt" in found.stdout
    assert (dumps / "delta.svg").read_text().startswith("<svg ")


def graph_dump(folder: Path, kept: int, nodes: int, seed: int) -> None:
    """Write what an engine's graph dump holds: logits and KV that repeat, and pool slots that do not."""
    folder.mkdir()
    steady, loose = np.random.default_rng(0), np.random.default_rng(seed)
    for number in range(kept):
        name = f"kv{number}_decode" if number else "logits_decode"
        steady.standard_normal(32).astype("<f4").tofile(folder / f"{name}.f32")
    for number in range(nodes):
        loose.uniform(1, 2, 32).astype("<f4").tofile(folder / f"node{number}_decode.f32")


def test_folders_are_compared_with_the_noise_of_the_instrument_taken_out(guardrail, folder):
    for seed, name in enumerate(("pre", "post", "pre2"), start=1):
        graph_dump(folder / name, kept=107, nodes=7, seed=seed)
    alone = guardrail("logits", "compare-dirs", "pre", "post")
    assert alone.returncode == 1
    assert "114 files: 107 identical, 7 different\n" in alone.stdout
    found = guardrail("logits", "compare-dirs", "pre", "post", "--self", "pre2", "--plot", "delta.html")
    assert (found.returncode, found.stderr) == (0, "")
    assert "114 files: 107 identical, 7 noise\n" in found.stdout
    assert "<title>post - pre</title>" in (folder / "delta.html").read_text()

    np.full(32, 5, dtype="<f4").tofile(folder / "post" / "kv9_decode.f32")
    (folder / "post" / "kv8_decode.f32").unlink()
    found = guardrail("logits", "compare-dirs", "pre", "post", "--self", "pre2", "--json")
    assert found.returncode == 1
    counts = json.loads(found.stdout)["counts"]
    assert counts == {"identical": 105, "noise": 7, "different": 1, "nonfinite": 0, "missing": 1, "extra": 0}


def test_nan_and_a_lost_file_are_findings_though_the_files_are_noise(guardrail, folder):
    for name, values in {"pre": (1, 1), "post": (np.nan, None), "pre2": (2, 2)}.items():
        (folder / name).mkdir()
        for file, value in zip(("kv", "node"), values, strict=True):
            if value is not None:
                np.save(folder / name / f"{file}.npy", np.full(512, value, np.float32))
    found = guardrail("logits", "compare-dirs", "pre", "post", "--self", "pre2")
    assert (found.returncode, found.stderr) == (1, "")
    rows = [line.split() for line in found.stdout.splitlines()[1:3]]
    assert rows == [
        ["kv.npy", "nonfinite", "512", "of", "512", "-", "1", "512"],
        ["node.npy", "missing", "1"],
    ]
    assert "2 files: 1 nonfinite, 1 missing\n" in found.stdout


def test_a_command_that_dumps_raw_files_becomes_a_dump_with_an_identity(guardrail, folder):
    (folder / "engine.py").write_text(
        "import array, os\n"
        "os.makedirs('dump', exist_ok=True)\n"
        "array.array('f', [1, 9, 3, 4]).tofile(open('dump/logits_decode.f32', 'wb'))\n"
    )
    source = ("--command", "python3 engine.py", "--folder", "dump", "--vocabulary", "4")
    made = guardrail("logits", "dump", *source, "--prompt-ids", "3,17", "-o", "command.safetensors")
    assert (made.returncode, made.stderr) == (0, "")
    write(folder / "a.safetensors", [1.0, 9.0, 3.0, 4.0])
    assert guardrail("logits", "compare", "a.safetensors", "command.safetensors").returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "expected one source"),
        (("reference_decode", "--hf", "."), "expected one source"),
        (("reference_decode",), "reference_decode needs --model"),
        (("reference_decode", "--folder", "dump"), "--folder does not go with engine reference_decode"),
        (("--command", "true"), "--command needs --folder"),
        (
            ("--command", "true", "--folder", "d", "--model", "tiny-decode"),
            "--model does not go with --command",
        ),
        (("--command", "true", "--folder", "d", "--shape", "x"), "--shape 'x': expected whole numbers"),
        (("--hf", ".", "--option", "planes=true"), "--option does not go with --hf"),
        (("--hf", ".", "--prompt-tokens", "4"), "--prompt-tokens does not go with --hf"),
        (("reference_decode", "--step", "1"), "--step does not go with engine reference_decode"),
        (
            ("reference_decode", *TINY, "--prompt-ids", "1", "--prompt-tokens", "4"),
            "--prompt-tokens does not go with --prompt-ids",
        ),
        (
            ("reference_decode", *TINY, *PROMPT, "--weights", "w.gguf", "--seed", "1"),
            "--seed does not go with --weights and --prompt-ids",
        ),
    ],
)
def test_a_dump_that_cannot_be_made_is_a_usage_error(guardrail, words, said):
    found = guardrail("logits", "dump", *words, "-o", "a.safetensors")
    assert (found.returncode, found.stdout) == (2, "")
    assert said in found.stderr
