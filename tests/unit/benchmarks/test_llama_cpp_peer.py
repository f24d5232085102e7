from pathlib import Path

import pytest

from benchmarks.llama_cpp.peer import Peer


def program(folder: Path, script: str) -> Path:
    path = folder / "peer"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_asks_for_one_shape_in_the_names_of_ggml(tmp_path):
    answering = program(tmp_path, """printf '{"asked": "%s", "arguments": %d}' "$1" $#""")
    asked = Peer(answering).measure("q6_k", 5_120, 13_824, 4)
    assert asked == {"asked": "q6_K:5120:13824:4", "arguments": 1}


def test_a_refusal_ends_the_run_in_the_words_of_the_program(tmp_path):
    refusing = program(tmp_path, "echo 'q4_K 8x256: differs' >&2; exit 1")
    with pytest.raises(SystemExit, match=r"q4_K:8:256:2: exit 1: q4_K 8x256: differs$"):
        Peer(refusing).measure("q4_k", 8, 256, 2)


def test_a_program_that_is_not_there_ends_the_run(tmp_path):
    with pytest.raises(SystemExit, match=r"missing q6_K:1:256:2: .*No such file"):
        Peer(tmp_path / "missing").measure("q6_k", 1, 256, 2)
