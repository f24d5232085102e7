import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

BENCH = """
import json, os, random, sys, time
scale = float(os.environ.get("SCALE", "1")) * float(sys.argv[1] if len(sys.argv) > 1 else 1)
rng = random.Random()
print("loading", os.environ.get("TRITON_CACHE_DIR", "shared"), file=sys.stderr)
print(json.dumps({"ms": scale * rng.gauss(10.0, 0.01), "copy_ms": rng.gauss(5.0, 0.001)}))
"""
PYTHON = shlex.quote(sys.executable)
CRITERIA = ("--accept", "B/A <= 0.996", "--veto", "B/A >= 1.004")
LEVER = ("--what", "scale the decode step", "--mechanism", "2% less work is 2% less time")
SHORT = ("--pairs", "6", "--confidence", "0.9")
BASE = ("ab", "--a", f"{PYTHON} bench.py", "--metric", "ms", "--warmup", "0")


@pytest.fixture(autouse=True)
def bench(folder):
    (folder / "bench.py").write_text(BENCH)
    return folder


def rows(guardrail):
    return guardrail("ledger", "list").stdout.splitlines()[1:]


def test_a_gain_is_accepted_and_written_down(guardrail, folder):
    found = guardrail(
        *BASE, "--b-env", "SCALE=0.98", *CRITERIA, *LEVER, "--id", "scale", "--control", "copy_ms"
    )
    assert (found.returncode, found.stderr) == (0, "")
    lines = found.stdout.splitlines()
    assert "environment: SCALE is unset in A, 0.98 in B" in lines
    assert "registered: accept B/A <= 0.996, veto B/A >= 1.004 (ledger.yaml, row scale)" in lines
    assert lines[-2].startswith("accept: B/A is 0.9")
    assert lines[-1] == "ledger: scale-result"
    header = next(number for number, line in enumerate(lines) if line.startswith("pair"))
    pairs = [line.split() for line in lines[header + 1 : header + 9]]
    assert [(number, first) for number, first, *_ in pairs] == list(zip("12345678", "ABABABAB", strict=True))
    shown = guardrail("ledger", "show", "scale-result").stdout
    assert "outcome     accept" in shown
    assert "registered  scale" in shown
    again = guardrail(*BASE, "--b-env", "SCALE=0.9", *CRITERIA, *LEVER, "--id", "scale")
    assert again.returncode == 2
    assert "--id scale: ledger.yaml:4 holds 'scale' already; another attempt is another row" in again.stderr


def test_a_loss_is_vetoed_and_prior_art_is_shown_before_the_next_try(guardrail):
    lost = guardrail(*BASE, *SHORT, "--b", f"{PYTHON} bench.py 1.02", *CRITERIA, *LEVER, "--id", "more-work")
    assert lost.returncode == 1
    assert "veto: B/A is 1.0" in lost.stdout
    again = guardrail(*BASE, *SHORT, "--b", f"{PYTHON} bench.py 1.03", *CRITERIA, *LEVER, "--id", "even-more")
    assert again.stdout.splitlines()[0].startswith("ledger: more-work (registered, ")
    assert [row.split()[0] for row in rows(guardrail)] == [
        "more-work", "more-work-result", "even-more", "even-more-result",
    ]  # fmt: skip


def test_no_difference_is_undecided(guardrail):
    found = guardrail(*BASE, "--b-env", "OTHER=1", *CRITERIA, *LEVER, "--id", "nothing", *SHORT)
    assert found.returncode == 4
    assert "undecided: B/A is" in found.stdout
    assert "6 pairs are all that may be taken" in found.stdout


def test_an_arm_compared_with_itself_writes_nothing_down(guardrail, folder):
    found = guardrail(*BASE, *SHORT, "--self-compare", "--json")
    document = json.loads(found.stdout)
    assert found.returncode in (0, 1)
    assert (document["self_compare"], document["looks"], len(document["pairs"])) == (True, [6], 6)
    assert document["verdict"] == ("accept" if found.returncode == 0 else "veto")
    assert not (folder / "ledger.yaml").exists()


def test_the_json_document_holds_every_run(guardrail, folder):
    found = guardrail(*BASE, *SHORT, "--b-env", "SCALE=0.9", *CRITERIA, *LEVER, "--id", "scale", "--json")
    document = json.loads(found.stdout)
    assert (document["verdict"], document["pairs_judged"], document["ledger_row"]) == (
        "accept",
        6,
        "scale-result",
    )
    assert document["arms"]["B"]["environment"] == {"SCALE": "0.9"}
    assert [len(files) for files in (document["arms"][side]["files"] for side in "AB")] == [2, 2]
    assert all(run["a"]["values"]["ms"] > 9.8 > 9.2 > run["b"]["values"]["ms"] for run in document["pairs"])
    assert "B/A" in found.stderr


def test_a_decode_metric_reports_steps_and_text(guardrail, folder):
    (folder / "decode.py").write_text(
        "import json, os, random\n"
        "steps, step = int(os.environ['STEPS']), float(os.environ['STEP'])\n"
        "times = [number * step + random.uniform(0, 1e-6) for number in range(steps)]\n"
        "request = {'content_times': times, 'completion_tokens': 256, 'text': 'a' * steps}\n"
        "print(json.dumps({'requests': [request]}))\n"
    )
    arms = (
        "--a",
        f"{PYTHON} decode.py",
        "--a-env",
        "STEPS=133",
        "--a-env",
        "STEP=0.02",
        "--b-env",
        "STEPS=153",
    )
    options = ("--reader", "decode", "--warmup", "0", *SHORT, *CRITERIA, *LEVER, "--b-env", "STEP=0.019")
    found = guardrail("ab", *arms, *options, "--metric", "decode", "--id", "steps")
    assert found.returncode == 0
    assert "A: steps 133" in found.stdout
    assert "B: steps 153" in found.stdout
    refused = guardrail("ab", *arms, *options, "--metric", "tokens_per_second", "--id", "tokens")
    assert refused.returncode == 3
    assert (
        "arm B, pair 1: steps is 153, in the first run it was 133; only like can be compared"
        in refused.stderr
    )


def test_fresh_caches_are_private_to_each_run(guardrail, folder):
    (folder / "cache.py").write_text(
        "import os, pathlib\n"
        "folder = pathlib.Path(os.environ['TRITON_CACHE_DIR'])\n"
        "held = len(list(folder.iterdir()))\n"
        "(folder / 'kernel').touch()\n"
        "print('held', 1 + held)\n"
    )
    options = (
        "--reader",
        "regex",
        "--metric",
        r"held (\d+)",
        *CRITERIA,
        *LEVER,
        "--b-env",
        "KNOB=1",
        "--pairs",
        "6",
    )
    fresh = guardrail(
        "ab", "--a", f"{PYTHON} cache.py", *options, "--cache", "fresh", "--id", "fresh", "--json"
    )
    kept = guardrail("ab", "--a", f"{PYTHON} cache.py", *options, "--cache", "arm", "--id", "arm", "--json")
    values = [
        [run["a"]["values"][r"held (\d+)"] for run in json.loads(found.stdout)["pairs"]]
        for found in (fresh, kept)
    ]
    assert values == [[1.0] * 6, [2.0] * 6]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*CRITERIA, *LEVER, "--id", "same"), "the arms are one and the same"),
        (("--b-env", "X=1"), "give --accept and --veto"),
        (
            ("--b-env", "X=1", *CRITERIA),
            "give --id and --what and --mechanism: the criterion is written into",
        ),
        (("--b-env", "X", *CRITERIA), "--b-env X: expected NAME=VALUE"),
        (("--b-env", "X=1", "--b-env", "X=2"), "--b-env X is given twice"),
        (("--b", "python 'x"), '--b "python \'x": No closing quotation'),
        (("--cache", "warm"), "--cache warm: expected one of shared, arm, fresh"),
        (("--accept", "B/A < 1"), "--accept 'B/A < 1': expected a bound"),
        (("--confidence", "95"), "--confidence 95: expected a probability between 0 and 1"),
        (
            ("--b-env", "X=1", *CRITERIA, *LEVER, "--id", "Not a slug"),
            "id must be lower-case letters and digits",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_runs(guardrail, folder, arguments, message):
    (folder / "bench.py").write_text("import pathlib; pathlib.Path('ran').touch()")
    found = guardrail(*BASE, *arguments)
    assert (found.returncode, found.stdout) == (2, "")
    assert message in found.stderr
    assert "Traceback" not in found.stderr
    assert not (folder / "ran").exists()
    assert not (folder / "ledger.yaml").exists()


def test_a_run_that_fails_leaves_a_registered_row_without_a_result(guardrail, folder):
    (folder / "bench.py").write_text("import sys; sys.exit('out of memory')")
    found = guardrail(*BASE, "--b-env", "SCALE=0.9", *CRITERIA, *LEVER, "--id", "scale")
    assert found.returncode == 3
    assert f"'{PYTHON} bench.py' ended with exit code 1; it said last: out of memory" in found.stderr
    left = "\nledger.yaml keeps the row 'scale' without a result; another attempt needs another --id\n"
    assert found.stderr.endswith(left)
    assert [row.split()[0] for row in rows(guardrail)] == ["scale"]


@pytest.mark.parametrize(
    ("program", "metric", "message"),
    [
        (BENCH, "mz", "arm A: the output has no mz; it goes on with ms, copy_ms"),
        ("print('all went well')", "ms", "expected JSON in the output; its last line is 'all went well'"),
        ("import sys; sys.exit('out of memory')", "ms", "it said last: out of memory"),
    ],
)
def test_what_a_warm_up_run_brings_to_light_costs_no_id(guardrail, folder, program, metric, message):
    lever = ("--b-env", "SCALE=0.9", *CRITERIA, *LEVER, "--id", "scale", *SHORT)
    (folder / "bench.py").write_text(program)
    found = guardrail("ab", "--a", f"{PYTHON} bench.py", "--metric", metric, *lever)
    assert found.returncode == 3
    assert message in found.stderr
    assert found.stderr.endswith("\nno run has counted: ledger.yaml is as it was\n")
    assert not (folder / "ledger.yaml").exists()
    (folder / "bench.py").write_text(BENCH)
    again = guardrail("ab", "--a", f"{PYTHON} bench.py", "--metric", "ms", *lever)
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, "ledger: scale-result")


def test_the_criterion_is_written_down_before_the_first_run_that_counts(guardrail, folder):
    (folder / "bench.py").write_text(
        "import os, pathlib\n"
        "state = 'registered' if pathlib.Path('ledger.yaml').exists() else 'free'\n"
        "with open('states', 'a') as states: print(state, file=states)\n" + BENCH
    )
    found = guardrail(*BASE, *SHORT, "--warmup", "2", "--b-env", "SCALE=0.9", *CRITERIA, *LEVER, "--id", "x")
    assert found.returncode == 0
    assert (folder / "states").read_text().split() == ["free"] * 4 + ["registered"] * 12


def test_a_reader_that_has_gone_loses_no_comparison(guardrail, folder, environment):
    gain = (*BASE, *SHORT, "--b-env", "SCALE=0.9", *CRITERIA, *LEVER)
    for number, options in enumerate(((), ("--json",))):
        ours, theirs = os.pipe()
        os.close(ours)
        found = subprocess.run(
            [sys.executable, "-m", "guardrail", *gain, "--id", f"try-{number}", *options],
            cwd=folder, env=environment, stdout=theirs, stderr=theirs, check=False,
        )  # fmt: skip
        os.close(theirs)
        assert found.returncode == 0
    assert [row.split()[0] for row in rows(guardrail)] == [
        "try-0", "try-0-result", "try-1", "try-1-result",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "told to end")]
)
@pytest.mark.parametrize(
    ("warmup", "left"),
    [
        ("1", "no run has counted: ledger.yaml is as it was"),
        ("0", "ledger.yaml keeps the row 'scale' without a result; another attempt needs another --id"),
    ],
)
def test_a_comparison_that_is_stopped_says_what_stays(folder, environment, number, code, word, warmup, left):
    (folder / "bench.py").write_text("import pathlib, time\npathlib.Path('ran').touch()\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "guardrail", *BASE[:-1], warmup, "--b-env", "X=1", *CRITERIA, *LEVER,
         "--id", "scale"],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not (folder / "ran").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (code, f"guardrail: {word}\n{left}\n")
    assert (folder / "ledger.yaml").exists() is (warmup == "0")


ARMS = ("--a", "q6k.served_matvec:v2_dpl", "--b", "q6k.served_matvec:v2_pf_dpl", "--case", "ffn-down-14b")


def test_arms_of_operations_are_not_timed_without_a_gpu(guardrail, folder):
    found = guardrail("ab", *ARMS, *CRITERIA, *LEVER, "--id", "prefetch")
    assert (found.returncode, found.stdout) == (3, "")
    assert "there is no GPU here that torch can use, and a time in Triton's interpreter says nothing" in (
        " ".join(found.stderr.split())
    )
    assert not (folder / "ledger.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--b", "q6k.served_matvec:v9"),
            "--b q6k.served_matvec:v9: operation served_matvec has no arm 'v9'",
        ),
        (("--b", "q6k.absent:v2"), "family q6k has no operation 'absent'"),
        (("--b", "absent:FAMILY.copy:v2"), "absent:FAMILY: cannot import absent"),
        (("--b", "python bench.py"), "with --case an arm is named as family.operation:arm"),
        (("--b-case", "huge"), "--case huge: operation served_matvec has no such case"),
        (("--b-case", "lm-head-14b"), "the arms have different work: id is 13824 in A, 5120 in B"),
        (("--b", "q6k.served_matvec:v2_dpl"), "the arms are one and the same: equal sources, arm and case"),
        (("--metric", "ms"), "--metric ms: an arm of an operation has no such metric"),
        (("--b-env", "X=1"), "--b-env: only a command has it"),
        (("--control", "q6k.served_matvec:v2_dpl"), "it is one of the compared arms"),
    ],
)
def test_arms_of_operations_that_cannot_be_compared_are_refused(guardrail, folder, arguments, message):
    found = guardrail("ab", *ARMS, *arguments, *CRITERIA, *LEVER, "--id", "prefetch")
    assert (found.returncode, found.stdout) == (2, "")
    assert message in " ".join(found.stderr.split())
    assert "Traceback" not in found.stderr
    assert not (folder / "ledger.yaml").exists()


@pytest.mark.parametrize("metric", [(), ("--metric", "ms")])
def test_an_operation_named_as_a_command_is_pointed_to_its_case(guardrail, metric):
    found = guardrail("ab", *ARMS[:4], *metric, *CRITERIA, *LEVER, "--id", "prefetch")
    assert found.returncode == 2
    assert "to time an arm of an operation, family.operation:arm, say on which --case" in (
        " ".join(found.stderr.split())
    )
