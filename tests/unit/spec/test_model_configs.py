import json

import pytest

from guardrail.spec.faults import ConfigurationError
from guardrail.spec.model_configs import read_model_config

CONFIG = {
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "hidden_size": 5120,
    "num_hidden_layers": 36,
    "vocab_size": 151_936,
}


def read(path, **changes):
    stated = {key: value for key, value in (CONFIG | changes).items() if value != "gone"}
    path.write_text(json.dumps(stated))
    return read_model_config(path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "config.json"


def test_the_geometry_is_read(path):
    model = read(path)
    assert (model.name, model.layers, model.hidden_size, model.vocabulary) == (str(path), 36, 5120, 151_936)
    assert (model.query_heads, model.kv_heads, model.head_size) == (32, 8, 128)
    assert (model.attention_layers, model.drafter) == (None, None)


def test_a_folder_means_its_config_json(path):
    read(path)
    assert read_model_config(path.parent).head_size == 128


@pytest.mark.parametrize("absent", ["gone", None])
def test_the_head_size_follows_from_the_hidden_size(path, absent):
    assert read(path, head_dim=absent).head_size == 160


def test_the_language_model_of_several_is_read(path):
    path.write_text(json.dumps({"text_config": CONFIG, "num_attention_heads": 1, "hidden_size": 64}))
    assert read_model_config(path).query_heads == 32


@pytest.mark.parametrize(
    ("changes", "layers"),
    [
        ({"layer_types": ["linear_attention"] * 3 + ["full_attention"]}, 1),
        ({"layer_types": ["sliding_attention", "full_attention"]}, 2),
        ({"full_attention_interval": 4}, 9),
        ({"full_attention_interval": None}, None),
    ],
)
def test_layers_without_a_cache_are_left_out(path, changes, layers):
    assert read(path, **changes).attention_layers == layers


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        ({"num_key_value_heads": "gone"}, ["the key 'num_key_value_heads' is missing"]),
        (
            {"num_attention_heads": None, "head_dim": "gone", "hidden_size": "gone"},
            [
                "the key 'head_dim' is missing, and so is 'hidden_size', which it follows from",
                "the key 'num_attention_heads' is missing",
            ],
        ),
        ({"head_dim": 0}, ["head_dim must be a whole number, 1 or more, not 0"]),
        ({"num_hidden_layers": True}, ["num_hidden_layers must be a whole number, 1 or more, not True"]),
        ({"num_key_value_heads": 5}, ["32 query heads cannot share 5 KV heads evenly"]),
        (
            {"head_dim": "gone", "hidden_size": 5000},
            ["hidden_size 5000 is no multiple of 32 heads; state 'head_dim'"],
        ),
    ],
)
def test_every_fault_of_the_geometry_is_reported(path, changes, messages):
    with pytest.raises(ConfigurationError) as error:
        read(path, **changes)
    assert [fault.message for fault in error.value.faults] == messages


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "the file is not JSON"), ("[1]", "expected a JSON object"), (None, "there is no such file")],
)
def test_what_is_no_config_is_refused(path, text, message):
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        read_model_config(path)
