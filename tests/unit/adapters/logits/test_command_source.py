"""Commands that leave dumps in a folder, as an engine's own graph dump does."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guardrail.adapters.logits.command_source import CommandRequest, dump_command
from guardrail.adapters.logits.dump_files import Layout
from guardrail.errors import MeasurementError, UsageError

SCRIPT = """
import array, os, sys
os.makedirs("dump", exist_ok=True)
for name, values in {"logits_decode": [1, 9, 3, 4], "logits_prefill": [0], "kv0_decode": [5, 6]}.items():
    array.array("f", values).tofile(open(f"dump/{name}.f32", "wb"))
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "engine.py"
    path.write_text(SCRIPT)
    return path


def request(script: Path, **changes: Any) -> CommandRequest:
    stated: dict[str, Any] = {
        "command": f"{sys.executable} {script}",
        "folder": Path("dump"),
        "layout": Layout(),
        "prompts": None,
        "step": 0,
        "timeout": 30.0,
    }
    return CommandRequest(**(stated | changes))


def test_the_logits_of_a_decode_step_are_found_and_the_rest_keeps_its_names(script: Path) -> None:
    found = dump_command(request(script, prompts=[[3, 17]], layout=Layout(shape=(1, 4))))
    assert found.logits.tolist() == [[1.0, 9.0, 3.0, 4.0]]
    assert {name: array.tolist() for name, array in found.tensors.items()} == {
        "logits_prefill": [0.0],
        "kv0_decode": [5.0, 6.0],
    }
    assert (found.identity.prompts, found.identity.step) == (((3, 17),), 0)
    assert found.identity.engine == f"{sys.executable} {script}"


def test_the_build_is_the_program_with_its_script(script: Path) -> None:
    before = dump_command(request(script)).identity.build
    script.write_text(SCRIPT + "# another build\n")
    after = dump_command(request(script)).identity.build
    assert before.startswith("sha256:")
    assert before != after


def test_another_tensor_can_be_named(script: Path) -> None:
    assert dump_command(request(script, layout=Layout(tensor="kv0_decode"))).logits.tolist() == [[5.0, 6.0]]
    with pytest.raises(MeasurementError, match="which tensor holds the logits"):
        dump_command(request(script, layout=Layout(tensor="none")))


def test_a_file_of_an_earlier_run_is_refused(script: Path) -> None:
    Path("dump").mkdir()
    np.zeros(3, dtype=np.float32).tofile("dump/node7_decode.f32")
    os.utime("dump/node7_decode.f32", (1_000_000, 1_000_000))
    with pytest.raises(MeasurementError, match=r"node7_decode\.f32 was there before the command ran"):
        dump_command(request(script))


def test_two_files_of_one_name_are_refused(script: Path) -> None:
    script.write_text(SCRIPT + "open('dump/kv0_decode.npy', 'wb').write(b'')\n")
    with pytest.raises(MeasurementError, match=r"kv0_decode\.npy: not a readable"):
        dump_command(request(script))
    script.write_text(SCRIPT + "import numpy; numpy.save('dump/kv0_decode.npy', numpy.zeros(1))\n")
    with pytest.raises(MeasurementError, match="two files hold a tensor 'kv0_decode'"):
        dump_command(request(script))


@pytest.mark.parametrize(
    ("command", "error", "reason"),
    [
        (f"{sys.executable} -c pass", MeasurementError, "the command left no .npy"),
        (f"{sys.executable} -c 'raise SystemExit(7)'", MeasurementError, "exit code 7"),
        ("no-such-engine -n 1", MeasurementError, "cannot be started"),
        ("'", UsageError, "No closing quotation"),
        (" ", UsageError, "expected a program"),
    ],
)
def test_a_command_that_leaves_no_dump_is_an_error(
    script: Path, command: str, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        dump_command(request(script, command=command))


def test_a_shape_is_for_raw_logits_alone(script: Path) -> None:
    script.write_text(
        SCRIPT + "import numpy; numpy.save('dump/logits.npy', numpy.zeros((2, 3), numpy.float32))\n"
    )
    raw = dump_command(request(script, layout=Layout(tensor="logits_decode", vocabulary=2)))
    assert raw.logits.tolist() == [[1.0, 9.0], [3.0, 4.0]]
    with pytest.raises(UsageError, match=r"--shape is for a raw \.f32 file.*dump: logits states its own"):
        dump_command(request(script, layout=Layout(tensor="logits", shape=(1, 6))))


def test_a_folder_with_the_name_of_a_dump_is_none(script: Path) -> None:
    Path("dump/kept.npy").mkdir(parents=True)
    assert sorted(dump_command(request(script)).tensors) == ["kv0_decode", "logits_prefill"]
