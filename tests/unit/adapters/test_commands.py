import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from guardrail.adapters.commands import run_command
from guardrail.errors import MeasurementError


def run(code, *arguments, folder=Path(), timeout=20.0, **variables):
    return run_command([sys.executable, "-c", code, *arguments], folder, {**os.environ, **variables}, timeout)


def refused(*arguments, **options):
    with pytest.raises(MeasurementError) as caught:
        run(*arguments, **options)
    return str(caught.value)


def test_what_a_command_prints_is_read_where_it_runs(tmp_path):
    ran = run("import os; print(os.getcwd(), os.environ['KNOB'])", folder=tmp_path, KNOB="é")
    assert ran.text == f"{tmp_path} é\n"
    assert 0.0 < ran.seconds < 20.0


def test_words_are_handed_on_without_a_shell():
    assert run("import sys; print(sys.argv[1:])", "$HOME; echo *", "").text == "['$HOME; echo *', '']\n"


def test_an_output_file_is_read_in_place_of_what_is_printed():
    code = "import sys, pathlib; print('log'); pathlib.Path(sys.argv[1]).write_text('result')"
    assert run(code, "{output}").text == "result"
    assert "wrote no file {output}: No such file" in refused("print(1)", "{output}")


def test_a_command_that_fails_is_quoted_with_its_last_lines():
    code = "import sys; print(*range(9), sep='\\n', file=sys.stderr); sys.exit(3)"
    assert refused(code).endswith("ended with exit code 3; it said last: 4 | 5 | 6 | 7 | 8")
    assert refused("import os; os.abort()").endswith("crashed: Aborted; it said nothing on standard error")


def test_a_program_that_is_not_there_is_named(tmp_path):
    with pytest.raises(
        MeasurementError,
        match=r"'no-such-program -n 1' cannot be started: there is no program 'no-such-program'",
    ):
        run_command(["no-such-program", "-n", "1"], tmp_path, {}, 1.0)


def is_running(marker: str) -> bool:
    return any(marker in line for line in map(command_line, Path("/proc").glob("[0-9]*/cmdline")))


def command_line(path: Path) -> str:
    try:
        return path.read_text(errors="replace").replace("\0", " ")
    except OSError:  # it ended meanwhile
        return ""


GRANDCHILD = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", sys.argv[1]], stdout=-3, stderr=-3)
time.sleep(float(sys.argv[2]))
print("done")
"""


def test_a_command_that_hangs_is_killed_with_what_it_started():
    start = time.monotonic()
    reason = refused(GRANDCHILD, "grandchild-of-a-hang", "60", timeout=1.0)
    assert "did not end within 1 s and was killed" in reason
    assert time.monotonic() - start < 15.0
    assert not is_running("grandchild-of-a-hang")


def test_what_a_command_leaves_in_the_background_is_killed():
    assert run(GRANDCHILD, "grandchild-left-behind", "0").text == "done\n"
    time.sleep(0.2)
    assert not is_running("grandchild-left-behind")


def test_a_command_dies_with_a_guardrail_that_is_ended():
    ours = (
        "import os, sys, pathlib; from guardrail.adapters.commands import run_command;"
        "code = 'import time; print(1, flush=True); time.sleep(60)';"
        "run_command([sys.executable, '-c', code, 'orphan-of-a-kill'], pathlib.Path(), dict(os.environ), 60)"
    )
    process = subprocess.Popen([sys.executable, "-c", ours])
    deadline = time.monotonic() + 20
    while not is_running("time.sleep(60) orphan-of-a-kill") and time.monotonic() < deadline:
        time.sleep(0.1)
    process.terminate()
    assert process.wait(20) == 143
    assert not is_running("time.sleep(60) orphan-of-a-kill")
