"""A model's geometry from the ``config.json`` that it is published with on Hugging Face."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guardrail.families.models import ModelProfile
from guardrail.spec.faults import ConfigurationError, Fault
from guardrail.spec.files import read_text

_NEEDED = ("num_attention_heads", "num_key_value_heads")
_STATEFUL = frozenset({"linear_attention", "mamba", "recurrent", "conv"})
"""Kinds of layer that keep a state of constant size and no KV cache."""


def read_model_config(path: Path) -> ModelProfile:
    """Read a model's attention geometry.

    The language model of a model of several kinds is the one under ``text_config``.

    Args:
        path: The file, or the folder that holds a ``config.json``.

    Raises:
        ConfigurationError: It is missing, no JSON object, or lacks the geometry; every key at fault.
    """
    file = path / "config.json" if path.is_dir() else path
    text = read_text(file, "expected a model's config.json, or the name of a model profile")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError([Fault(str(file), None, f"the file is not JSON: {error}")]) from error
    if not isinstance(data, dict):
        raise ConfigurationError(
            [Fault(str(file), None, "expected a JSON object, as in a model's config.json")]
        )
    nested = data.get("text_config")
    config = nested if isinstance(nested, dict) else data
    faults = [Fault(str(file), None, message) for message in _faults(config)]
    if faults:
        raise ConfigurationError(faults)
    return ModelProfile(
        name=str(path),
        layers=config.get("num_hidden_layers"),
        hidden_size=config.get("hidden_size"),
        query_heads=config["num_attention_heads"],
        kv_heads=config["num_key_value_heads"],
        head_size=config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"],
        vocabulary=config.get("vocab_size"),
        attention_layers=_attention_layers(config),
    )


def _faults(config: Mapping[str, Any]) -> list[str]:
    counts = (*_NEEDED, "head_dim", "hidden_size", "num_hidden_layers", "vocab_size")
    stated = {key: config[key] for key in counts if config.get(key) is not None}
    faults = [f"the key {key!r} is missing" for key in _NEEDED if key not in stated]
    if "head_dim" not in stated and "hidden_size" not in stated:
        faults.append("the key 'head_dim' is missing, and so is 'hidden_size', which it follows from")
    wrong = [key for key, value in stated.items() if type(value) is not int or value < 1]
    faults += [f"{key} must be a whole number, 1 or more, not {stated[key]!r}" for key in wrong]
    if faults:
        return faults
    heads = stated["num_attention_heads"]
    if heads % stated["num_key_value_heads"]:
        return [f"{heads} query heads cannot share {stated['num_key_value_heads']} KV heads evenly"]
    if "head_dim" not in stated and stated["hidden_size"] % heads:
        return [f"hidden_size {stated['hidden_size']} is no multiple of {heads} heads; state 'head_dim'"]
    return []


def _attention_layers(config: Mapping[str, Any]) -> int | None:
    """Count the layers with a KV cache; None where the file does not tell layers apart."""
    kinds = config.get("layer_types")
    if isinstance(kinds, list):
        return sum(kind not in _STATEFUL for kind in kinds)
    layers, interval = config.get("num_hidden_layers"), config.get("full_attention_interval")
    return (
        layers // interval if isinstance(layers, int) and isinstance(interval, int) and interval > 0 else None
    )
