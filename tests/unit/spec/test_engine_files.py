import pytest

from guardrail.spec.engine_files import (
    ServerEngine,
    TransformersEngine,
    VllmEngine,
    is_engine_file,
    load_engine,
)
from guardrail.spec.faults import ConfigurationError


def write(folder, text):
    (path := folder / "engine.yaml").write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "engine: vllm\narguments: {model: m, max_num_seqs: 4}\nenvironment: {A: '1'}\n",
            VllmEngine(
                engine="vllm",
                arguments={"model": "m", "max_num_seqs": 4},
                python=None,
                environment={"A": "1"},
                timeout_seconds=900.0,
            ),
        ),
        (
            "engine: server\nurl: http://127.0.0.1:8000\nmodel: m\ntimeout_seconds: 5\n",
            ServerEngine(engine="server", url="http://127.0.0.1:8000", model="m", timeout_seconds=5.0),
        ),
        (
            "engine: transformers\nmodel: m\npython: venv/bin/python\n",
            TransformersEngine(
                engine="transformers", model="m", python="venv/bin/python", timeout_seconds=900.0
            ),
        ),
    ],
)
def test_an_engine_of_each_kind_is_read(tmp_path, text, expected):
    assert load_engine(write(tmp_path, text)) == expected


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("model: m\n", ["the key 'engine' is missing; write one of vllm, server, transformers"]),
        ("engine: llama\n", ["engine must be one of vllm, server, transformers, not the text 'llama'"]),
        ("engine: vllm\n", ["the key 'arguments' is missing"]),
        (
            "engine: server\nurl: 1\nmodell: m\n",
            ["the key 'model' is missing", "url must be text", "unknown key 'modell'; did you mean 'model'?"],
        ),
    ],
)
def test_every_fault_of_a_description_is_reported(tmp_path, text, faults):
    with pytest.raises(ConfigurationError) as raised:
        load_engine(write(tmp_path, text))
    assert len(raised.value.faults) == len(faults)
    for fault in faults:
        assert fault in str(raised.value)


def test_a_description_is_told_from_a_log_by_its_ending():
    assert [is_engine_file(name) for name in ("a.yaml", "a.log", "a.json")] == [True, False, False]
