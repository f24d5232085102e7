import pytest

from guardrail.adapters.vllm_engine.startup import boot_and_read_budget, start_engine
from guardrail.compiled.file_subject import FileSubject
from guardrail.errors import MeasurementError, UsageError
from helpers.engines import fake_engine, server_engine


def test_a_boot_gives_the_record_that_its_log_does(tmp_path):
    startup = start_engine(fake_engine(tmp_path))
    assert startup.engines[0].readings["kv_tokens"].value == 4096
    assert startup.workers[0].readings["model_load_bytes"].value == 1.5 * 2**30
    assert (startup.settings["num_gpu_blocks"], startup.settings["block_size"]) == ("256", "16")
    assert startup.settings["vllm"] == "0.27.1"


def test_a_log_and_a_configuration_that_disagree_are_an_error(tmp_path):
    with pytest.raises(MeasurementError, match=r"the log tells of 4096 KV tokens, .* of 4000"):
        start_engine(fake_engine(tmp_path, configured_tokens=4000))


def test_two_engines_are_booted_and_compared(tmp_path):
    subject = FileSubject.read(fake_engine(tmp_path))
    rows = boot_and_read_budget(subject, str(fake_engine(tmp_path, "stock.yaml")), 0, [])
    values = {row["metric"]: row["reading"]["value"] for row in rows if row["reading"]}
    assert (values["unplanned_load_bytes"], values["unplanned_kv_bytes"], values["kv_tokens"]) == (0, 0, 4096)


def test_a_running_server_has_no_start_to_read(tmp_path):
    path = server_engine(tmp_path, "http://127.0.0.1:1")
    with pytest.raises(UsageError, match="a start is read from an engine of kind vllm, not server"):
        start_engine(path)
