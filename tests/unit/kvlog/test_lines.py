import json
import re

import pytest

from guardrail.kvlog.lines import Line, read_lines

ANY = re.compile(r"\S")


@pytest.mark.parametrize(
    ("text", "process"),
    [
        ("INFO 11-29 19:20:00 [core.py:97] hello (other pid=3)", ("", "")),
        ("(EngineCore_DP0 pid=7) INFO 11-29 19:20:00 [core.py:97] hello", ("EngineCore_DP0", "7")),
        ("(VllmWorker TP1 pid=8) INFO 11-29 19:20:00 [core.py:97] hello", ("VllmWorker TP1", "8")),
        ("(EngineCore pid=7) (RayWorkerWrapper pid=9, ip=192.0.2.1) INFO 11-29 [w.py:1] hello",
         ("RayWorkerWrapper", "9")),
        ("\x1b[0;36m(EngineCore pid=7)\x1b[0;0m \x1b[32mINFO\x1b[0m \x1b[90m11-29\x1b[0m hello",
         ("EngineCore", "7")),
        ("vllm-1  | (Worker_TP0 pid=5) INFO 11-29 19:20:00 hello", ("Worker_TP0", "5")),
        ("(EngineCore pid=7) Traceback (most recent call last):", ("EngineCore", "7")),
    ],
)  # fmt: skip
def test_the_innermost_prefix_names_the_process(text, process):
    (line,) = read_lines(text, ANY)
    assert line.process == process
    assert "\x1b" not in line.text


def test_a_record_in_json_is_a_message_of_its_process():
    record = {"asctime": "x", "processName": "EngineCore", "process": 7, "message": "hello\nthere"}
    (line,) = read_lines("vllm-1 | " + json.dumps(record), ANY)
    assert line == Line(1, ("EngineCore", "7"), "hello\nthere")


def test_broken_json_is_a_plain_line():
    (line,) = read_lines('{"message": "cut o', ANY)
    assert line == Line(1, ("", ""), '{"message": "cut o')


def test_lines_are_counted_as_editors_do_whatever_a_progress_bar_returns_to():
    found = list(read_lines("one\r\n\nbar 0%\rbar 100%\rlast of three\nfour\x0b still four", ANY))
    assert [(line.number, line.text) for line in found] == [
        (1, "one"),
        (3, "bar 0%"),
        (3, "bar 100%"),
        (3, "last of three"),
        (4, "four\x0b still four"),
    ]
