import json
import math
import re
from dataclasses import replace

import pytest

from guardrail.errors import MeasurementError, UsageError
from guardrail.kvlog.saved import plain_startup, read_startup
from helpers.kv_logs import LOGS, in_json, kept


@pytest.mark.parametrize("path", sorted(LOGS.glob("*.log")), ids=lambda path: path.name)
def test_a_start_is_saved_and_read_back(tmp_path, path):
    startup = read_startup(path)
    (saved := tmp_path / "start.json").write_text(json.dumps(plain_startup(startup), indent=2))
    assert read_startup(saved) == replace(startup, source=str(saved))


def test_a_log_of_one_json_record_is_no_saved_start(tmp_path):
    (log := tmp_path / "x.log").write_text(in_json(kept("0.33.0_eager_20000_spec.log")).splitlines()[0])
    with pytest.raises(MeasurementError, match="not a line of a start"):
        read_startup(log)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "expected version 1 of a saved start, and this one is 2"),
        ({"workers": [{}]}, "workers.0.process: Field required"),
        ({"workers": "w"}, "workers: Input should be a valid array"),
        ({"readings": {"requested_utilization": [1, 2]}}, "readings.requested_utilization.2: Field required"),
        ({"readings": {"requested_utilization": ["a", 2, 3]}}, "readings.requested_utilization.0"),
        ({"readings": {"requested_utilization": [1, math.nan, 3]}}, "readings.requested_utilization.1"),
        ({"readings": {"effective_utilization": [1, 1, 1]}}, "readings.requested_utilization is missing"),
        ({"readings": {"x": [1, 2, 3]}}, "readings.x is 1, not between its lowest 2 and highest 3"),
        ({"settings": None}, "settings: Input should be an object"),
        ({"counted": {"a": [5]}}, "counted.a.0: Input should be a valid string"),
    ],
)
def test_a_damaged_start_is_refused(tmp_path, change, message):
    document = plain_startup(read_startup(LOGS / "0.15.1.log")) | change
    (saved := tmp_path / "start.json").write_text(json.dumps(document))
    with pytest.raises(UsageError, match=rf"start\.json: .*{re.escape(message)}"):
        read_startup(saved)


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("workers", {"process": None}, "workers.0.process: Input should be a valid string"),
        ("workers", {"readings": {}, "scratch_lines": 1}, "readings.adopted is missing"),
        ("engines", {"request_tokens": "abc"}, "engines.0.request_tokens: Input should be a valid integer"),
        (
            "engines",
            {"request_tokens": None},
            "request_tokens of engine is null, and its concurrency",
        ),
        ("engines", {"readings": {}}, "readings.kv_tokens is missing"),
    ],
)
def test_a_damaged_part_of_a_start_is_named(tmp_path, part, change, message):
    document = plain_startup(read_startup(LOGS / "0.15.1.log"))
    document[part][0] |= change
    (saved := tmp_path / "start.json").write_text(json.dumps(document))
    with pytest.raises(UsageError, match=re.escape(f"a damaged start ({message}")):
        read_startup(saved)


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match=r"gone\.log: cannot be read: No such file or directory"):
        read_startup(tmp_path / "gone.log")
