"""What a person hands to the command line by mistake, and the one message that answers it."""

import json
import os

import pytest

REPORT = "expected a report as guardrail writes it in JSON, in format 1.x"
KERNELS = "not a list of kernels as `guardrail resources --json` writes it"
FAMILIES = "known families: int4_attention, q4k, q6k, reference_decode"
DUMP = ("logits", "dump", "-o", "a.safetensors")
SAVED_START = json.dumps({"format": "guardrail-kv-log", "version": 1, "source": "a.log"}, indent=2)

SIZES = ("registers", "stack_bytes", "spill_store_bytes", "spill_load_bytes", "shared_bytes")
THREADS = json.dumps(
    [
        {"name": "k", "arch": "sm_90", "toolchain": "nvcc 13.0", "dynamic_shared_bytes": 0, "threads": -5}
        | dict.fromkeys(SIZES, 0)
    ]
)


@pytest.fixture
def inputs(folder):
    (folder / "circle.yaml").symlink_to("circle.yaml")
    (folder / "circle.so").symlink_to("circle.so")
    (folder / "utf16.json").write_text("[]", encoding="utf-16")
    (folder / "cut.json").write_text('[\n{"name": "k')
    (folder / "deep.json").write_text("[" * 100_000)
    for name, duration in {"backward": "-1", "nan": "NaN", "endless": "1e999"}.items():
        event = f'{{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": {duration}}}'
        (folder / f"{name}.json").write_text(f'{{"traceEvents": [{event}]}}')
    (folder / "none.json").write_text("[]")
    (folder / "threads.json").write_text(THREADS)
    (folder / "start.json").write_text(SAVED_START[:60])
    (folder / "settings.json").write_text(json.dumps(json.loads(SAVED_START) | {"settings": {}}))
    (folder / "junk.npy").write_bytes(bytes(100))
    (folder / "junk.npz").write_bytes(bytes(100))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("check", "--guards", "circle.yaml"),
            2,
            "circle.yaml: the file cannot be read: Too many levels of symbolic links",
        ),
        (
            ("check", "--guards", "tiny.yaml", "--only", "tiny-gat"),
            2,
            "tiny.yaml has no guard 'tiny-gat'; did you",
        ),
        (
            ("check", "--guards", "tiny.yaml", "--from", "circle.yaml"),
            2,
            "circle.yaml: the file cannot be read: Too",
        ),
        (
            ("check", "--guards", "tiny.yaml", "--from", "tiny"),
            2,
            f"tiny: this is a folder, not a file; {REPORT}",
        ),
        (("check", "--guards", "tiny.yaml", "--from", "gone"), 2, f"gone: there is no such file; {REPORT}"),
        (("profile", "backward.json"), 2, "backward.json: damaged: 'k' took -1000 ns; expected 0 or more"),
        (("profile", "nan.json"), 2, "nan.json: damaged: 'k' took nan ns; expected 0 or more"),
        (("profile", "endless.json"), 2, "endless.json: damaged: 'k' took inf ns; expected 0 or more"),
        (("profile", "deep.json"), 2, "deep.json: the JSON is nested too deeply; expected CSV of ncu"),
        (("kv", "log", "deep.json"), 3, "deep.json: not a line of a start of vLLM"),
        (("kv", "plan", "--model", "deep.json", "--max-num-seqs", "2"), 2, "deep.json: the file is not JSON"),
        (("resources", "gone"), 2, f"there is no family 'gone' and no file 'gone'; {FAMILIES}"),
        (("resources", "circle.so"), 2, "circle.so: no such file; expected a bundled kernel"),
        (("resources", "cut.json"), 2, f"cut.json: {KERNELS} (the JSON breaks off or is damaged on line 2)"),
        (("resources", "none.json"), 5, "none.json: a list of no kernels"),
        (("resources", "threads.json"), 2, f"threads.json: {KERNELS} (threads is -5, less than 1)"),
        (
            ("resources", "threads.json", "--dynamic-shared", "5"),
            2,
            "--dynamic-shared goes with --threads only, for kernels that come without a launch size",
        ),
        (
            ("kv", "log", "settings.json"),
            2,
            "settings.json: a damaged start (readings: Field required); write it again",
        ),
        (
            ("kv", "log", "start.json"),
            2,
            "start.json:4: this saved start breaks off or is damaged here; write it",
        ),
        (
            ("kv", "plan", "--model", "qwen2.5-7", "--max-num-seqs", "2"),
            2,
            "--model qwen2.5-7: there is no such model profile and no config.json; did you mean 'qwen2",
        ),
        ((*DUMP, "reference_decod"), 2, "there is no family 'reference_decod' and no file"),
        (
            (*DUMP, "reference_decode", "--model", "tiny-decode", "--weights", "gone.gguf"),
            2,
            "--weights gone.gguf: cannot be read: No such file or directory",
        ),
        (
            (*DUMP, "--command", "exit 3", "--folder", "dumps"),
            3,
            "'exit 3' cannot be started: there is no program 'exit'; for a command of a shell, begin",
        ),
        (
            ("logits", "compare", "junk.npy", "junk.npy"),
            3,
            "junk.npy: not a readable .npy file: the magic string",
        ),
        (
            ("logits", "compare", "junk.npz", "junk.npz"),
            3,
            "junk.npz: not a readable .npz file: it is no zip archive",
        ),
    ],
)
@pytest.mark.usefixtures("inputs")
def test_a_mistake_is_answered_by_one_message(guardrail, arguments, code, message):
    found = guardrail(*arguments)
    assert (found.returncode, found.stdout) == (code, "")
    assert found.stderr.startswith(f"guardrail: {message}"), found.stderr
    assert "bug" not in found.stderr


@pytest.mark.usefixtures("inputs")
def test_a_list_of_kernels_in_utf_16_is_one(guardrail):
    found = guardrail("resources", "utf16.json")
    assert (found.returncode, found.stderr) == (5, "guardrail: utf16.json: a list of no kernels\n")


@pytest.mark.parametrize("arguments", [("resources", "hidden.cubin"), ("cache",), ("list", "profiles")])
def test_what_may_not_be_read_is_no_bug(guardrail, folder, arguments):
    (folder / "hidden.cubin").touch(0)
    (folder / "profiles" / "devices").mkdir(parents=True)
    own = folder / "own"
    (own / "measurements").mkdir(parents=True)
    hidden = [own, folder / "profiles"]
    for path in hidden:
        path.chmod(0)
    everything = os.access(own, os.R_OK)
    found = guardrail(*arguments, GUARDRAIL_CACHE_DIR=str(own))
    for path in hidden:
        path.chmod(0o700)
    if everything:
        pytest.skip("this user may read everything")
    assert (found.returncode, "cannot be read: Permission denied" in found.stderr) == (2, True), found.stderr
