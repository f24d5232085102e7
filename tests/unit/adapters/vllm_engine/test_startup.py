import pytest

from guardrail.adapters.vllm_engine import startup
from guardrail.adapters.vllm_engine.startup import boot_and_read_budget, start_engine
from guardrail.compiled.file_subject import FileSubject
from guardrail.errors import MeasurementError, UsageError
from helpers.engines import fake_engine, server_engine


def test_a_boot_gives_the_record_that_its_log_does(tmp_path):
    started = start_engine(fake_engine(tmp_path))
    assert started.engines[0].readings["kv_tokens"].value == 4096
    assert started.workers[0].readings["model_load_bytes"].value == 1.5 * 2**30
    assert (started.settings["num_gpu_blocks"], started.settings["block_size"]) == ("256", "16")
    assert started.settings["vllm"] == "0.27.1"


def test_a_log_and_a_configuration_that_disagree_are_an_error(tmp_path):
    with pytest.raises(MeasurementError, match=r"the log tells of 4096 KV tokens, .* of 4000"):
        start_engine(fake_engine(tmp_path, configured_tokens=4000))


def test_two_engines_are_booted_and_compared(tmp_path):
    subject = FileSubject.read(fake_engine(tmp_path, own_cache=False))
    against = str(fake_engine(tmp_path, "stock.yaml", own_cache=False))
    rows = boot_and_read_budget(subject, against, 0, [])
    values = {row["metric"]: row["reading"]["value"] for row in rows if row["reading"]}
    assert (values["unplanned_load_bytes"], values["unplanned_kv_bytes"], values["kv_tokens"]) == (0, 0, 4096)


def test_two_engines_both_compile_and_leave_the_users_cache_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("VLLM_CACHE_ROOT", str(tmp_path / "mine"))
    states = []
    monkeypatch.setattr(startup, "budget_rows", lambda *starts: states.extend(starts[:2]) or [])
    against = str(fake_engine(tmp_path, "stock.yaml", own_cache=False))
    boot_and_read_budget(FileSubject.read(fake_engine(tmp_path, own_cache=False)), against, 0, [])
    assert [state.settings["compile_cache"] for state in states] == ["compiled", "compiled"]
    assert not (tmp_path / "mine").exists()


def test_a_cache_that_an_engine_names_is_its_own_and_two_that_share_one_are_refused(tmp_path):
    subject = FileSubject.read(fake_engine(tmp_path))
    with pytest.raises(UsageError, match=r"compile_cache is loaded in .*stock\.yaml and compiled in"):
        boot_and_read_budget(subject, str(fake_engine(tmp_path, "stock.yaml")), 0, [])


def test_one_engine_uses_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VLLM_CACHE_ROOT", str(tmp_path / "mine"))
    boot_and_read_budget(FileSubject.read(fake_engine(tmp_path, own_cache=False)), None, None, [])
    assert (tmp_path / "mine" / "torch_compile_cache" / "artifact").exists()


def test_a_running_server_has_no_start_to_read(tmp_path):
    path = server_engine(tmp_path, "http://127.0.0.1:1")
    with pytest.raises(UsageError, match="a start is read from an engine of kind vllm, not server"):
        start_engine(path)
