import contextlib
import errno
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CHECK = ("check", "--guards", "tiny.yaml", "--only", "tiny-scratch")


def command(*arguments):
    return [sys.executable, "-m", "guardrail", *arguments]


def on_a_terminal(arguments, folder, environment):
    """Run a command whose output is a terminal, and read what appears there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command(*arguments), cwd=folder, env=environment, stdout=theirs, stderr=theirs)
    os.close(theirs)
    printed = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError as error:  # how Linux says that the other end was closed
            assert error.errno == errno.EIO
            break
        if not read:
            break
        printed += read
    os.close(ours)
    return process.wait(timeout=30), printed.decode()


def test_a_terminal_gets_colour_and_a_progress_bar(folder, environment):
    code, printed = on_a_terminal(CHECK, folder, environment | {"TERM": "xterm"})
    assert code == 0
    assert "\x1b[32mpass" in printed
    assert "measuring" in printed


def test_no_colour_where_the_user_wants_none(folder, environment):
    code, printed = on_a_terminal(
        CHECK, folder, environment | {"NO_COLOR": "1", "TERM": "xterm", "CI": "true"}
    )
    assert code == 0
    assert "\x1b" not in printed
    assert "measuring" not in printed


@pytest.mark.parametrize(
    "locale",
    [
        {"LANG": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
)
def test_any_locale_will_do(folder, environment, locale):
    found = subprocess.run(
        command("check", "--guards", "tiny.yaml"),
        cwd=folder,
        env=environment | {"TINY_REACH": "12"} | locale,
        capture_output=True,
        check=False,
    )
    assert (found.returncode, found.stderr) == (1, b"")
    assert "FAIL  tiny-gate ────" in found.stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "reach", "code"), [(CHECK, "8", 0), (("check", "--guards", "tiny.yaml"), "12", 1)]
)
@pytest.mark.parametrize("format", ["terminal", "json"])
def test_a_reader_that_has_gone_changes_no_verdict(folder, environment, arguments, reach, code, format):
    ours, theirs = os.pipe()
    os.close(ours)
    found = subprocess.run(
        command(*arguments, "--format", format),
        cwd=folder,
        env=environment | {"TINY_REACH": reach},
        stdout=theirs,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(theirs)
    assert (found.returncode, found.stderr) == (code, b"")


@pytest.mark.parametrize("arguments", [("check", "--guards", "gone.yaml"), ("check", "--gone"), ("gone",)])
@pytest.mark.parametrize("to", ["full disk", "closed pipe"])
def test_a_message_that_cannot_be_written_changes_no_exit_code(folder, environment, arguments, to):
    ours, theirs = os.pipe()
    os.close(ours)
    with Path("/dev/full").open("w") as full:
        found = subprocess.run(
            command(*arguments),
            cwd=folder,
            env=environment,
            stderr=full if to == "full disk" else theirs,
            stdout=subprocess.PIPE,
            check=False,
        )
    os.close(theirs)
    assert (found.returncode, found.stdout) == (2, b"")


@pytest.mark.parametrize(
    "arguments", [CHECK, (*CHECK, "--format", "json"), ("list", "metrics"), ("--help",), ("--version",)]
)
def test_standard_output_is_named_where_the_disk_is_full(folder, environment, arguments):
    with Path("/dev/full").open("w") as full:
        found = subprocess.run(
            command(*arguments),
            cwd=folder,
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    message = "guardrail: standard output: cannot write: No space left on device\n"
    assert (found.returncode, found.stderr) == (2, message)


@pytest.mark.parametrize("arguments", [("list", "metrics"), ("schema",), ("--help",), ("--version",)])
def test_a_reader_that_has_gone_gets_no_traceback(folder, environment, arguments):
    line = f"set -o pipefail; {' '.join(command(*arguments))} | true"
    found = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (found.stdout, found.stderr) == ("", "")
    assert found.returncode in (0, 141)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{} list subjects >&-", 0),
        ("{} check --guards tiny.yaml --only tiny-scratch >&-", 0),
        ("{} check --guards gone.yaml 2>&-", 2),
    ],
)
def test_a_stream_that_is_closed_is_written_to_in_vain(folder, environment, line, code):
    found = subprocess.run(
        ["bash", "-c", line.format(" ".join(command()))],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout, found.stderr) == (code, "", "")


def test_a_full_disk_takes_neither_the_old_report_nor_the_verdict(folder, environment):
    (folder / "run.json").write_text("old")
    reports = "--format terminal --format json --output run.json"
    found = subprocess.run(
        ["bash", "-c", f"ulimit -f 1; {' '.join(command(*CHECK))} {reports}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stderr) == (
        2,
        "guardrail: --output run.json: cannot write: File too large\n",
    )
    assert "1 guard: 1 pass" in found.stdout
    assert (folder / "run.json").read_text() == "old"
    assert not list(folder.glob(".run.json*"))


@pytest.mark.parametrize("arguments", [("list", "subjects"), ("list", "metrics"), ("list", "profiles")])
def test_no_name_is_broken_in_two_on_a_narrow_terminal(folder, environment, arguments):
    code, printed = on_a_terminal(arguments, folder, environment | {"NO_COLOR": "1", "COLUMNS": "80"})
    lines = [re.sub(r"\x1b\[\d*m", "", line) for line in printed.splitlines()]
    assert (code, [line for line in lines if len(line) > 80]) == (0, [])
    in_a_pipe = subprocess.run(
        command(*arguments), cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert " ".join(lines).split() == in_a_pipe.stdout.split()
    assert not any(line.endswith(" ") for line in in_a_pipe.stdout.splitlines())


def test_the_first_line_can_be_taken_off_a_list(folder, environment):
    line = f"{' '.join(command('list', 'metrics'))} | head -1"
    found = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert (found.stdout.split(), found.stderr) == (["probe", "metric", "unit", "meaning"], "")


def heed_interrupts():
    """Undo what a shell does to jobs in its background, of which the tests may be one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interruptible(folder, environment, *arguments):
    """Start a command in a session of its own, so that it alone is sent what a terminal would send."""
    return subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )


INTERRUPTED = (
    "guardrail: interrupted\nno report is written; what was measured and can be kept is in the cache\n"
)


def test_ctrl_c_while_workers_start_is_told_by_guardrail_alone(folder, environment):
    process = interruptible(folder, environment, *CHECK, "--fresh")
    deadline = time.monotonic() + 30
    while "multiprocessing.spawn" not in " ".join(children_of(process.pid)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.1)  # now it imports
    os.killpg(process.pid, signal.SIGINT)
    printed, errors = process.communicate(timeout=30)
    assert (process.returncode, printed, errors) == (130, "", INTERRUPTED)


def children_of(pid):
    """The command lines of a process's children."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            with contextlib.suppress(FileNotFoundError):
                yield Path(f"/proc/{child}/cmdline").read_text()


@pytest.mark.parametrize("to_the_group", [True, False])
def test_ctrl_c_ends_a_check_and_its_workers_at_once(folder, environment, to_the_group):
    marker = folder / "worker.pid"
    process = interruptible(
        folder,
        environment | {"TINY_HANG": str(marker)},
        "check",
        "--guards",
        "tiny.yaml",
        "--only",
        "tiny-gate",
    )
    deadline = time.monotonic() + 30
    while not (marker.exists() and marker.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    worker = int(marker.read_text())
    interrupted = time.monotonic()
    # A terminal sends Ctrl-C to the whole group, a process manager to the process alone.
    (os.killpg if to_the_group else os.kill)(process.pid, signal.SIGINT)
    printed, errors = process.communicate(timeout=30)
    assert time.monotonic() - interrupted < 10  # the worker hangs for ever
    assert (process.returncode, printed, errors) == (130, "", INTERRUPTED)
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
