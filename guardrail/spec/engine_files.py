"""The description of an engine under test: a YAML file beside the guards file."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from guardrail.spec.faults import ConfigurationError
from guardrail.spec.fields import Strict, Text
from guardrail.spec.messages import shown
from guardrail.spec.validation import validate
from guardrail.spec.yaml_lines import read_yaml

SUFFIX = ".yaml"
"""What tells the description of an engine from a log of one."""


class VllmEngine(Strict):
    """vLLM, started for the measurement in a process of its own."""

    engine: Literal["vllm"] = Field(description="Started by the probe.")
    arguments: dict[str, Any] = Field(description="Keyword arguments of vllm.LLM.")
    python: Text | None = Field(
        None, description="Interpreter that has vLLM; guardrail's own where left out."
    )
    environment: dict[str, str] = Field(default={}, description="Environment variables to start it with.")
    timeout_seconds: float = Field(900.0, gt=0, description="When a boot with all it is asked is killed.")


class ServerEngine(Strict):
    """A running server with OpenAI's interface."""

    engine: Literal["server"] = Field(description="Runs already.")
    url: Text = Field(description="Where it listens: http://127.0.0.1:8000.")
    model: Text = Field(description="Name that it serves the model by.")
    timeout_seconds: float = Field(900.0, gt=0, description="When one round of requests is given up.")


class TransformersEngine(Strict):
    """A Hugging Face causal model in fp32, the reference for logits."""

    engine: Literal["transformers"] = Field(description="Loaded by the probe.")
    model: Text = Field(description="Folder of the model.")
    python: Text | None = Field(
        None, description="Interpreter that has transformers; guardrail's own where left out."
    )
    timeout_seconds: float = Field(900.0, gt=0, description="When it is killed.")


EngineFile = VllmEngine | ServerEngine | TransformersEngine

_KINDS: dict[str, type[VllmEngine] | type[ServerEngine] | type[TransformersEngine]] = {
    "vllm": VllmEngine,
    "server": ServerEngine,
    "transformers": TransformersEngine,
}
_EXPECTED = "expected the description of an engine, which begins with 'engine: vllm'"


def is_engine_file(path: str) -> bool:
    """Tell the description of an engine from a log by its ending."""
    return path.endswith(SUFFIX)


def load_engine(path: Path) -> EngineFile:
    """Read the description of an engine.

    Raises:
        ConfigurationError: It is none; every fault with its line.
    """
    document = read_yaml(path, _EXPECTED)
    if "engine" not in document.data:
        message = f"the key 'engine' is missing; write one of {', '.join(_KINDS)}"
        raise ConfigurationError([document.fault(message)])
    kind = document.data["engine"]
    if not isinstance(kind, str) or kind not in _KINDS:
        known = ", ".join(_KINDS)
        raise ConfigurationError(
            [document.fault(f"engine must be one of {known}, not {shown(kind)}", "engine")]
        )
    engine, faults = validate(_KINDS[kind], document, document.data)
    if engine is None:
        raise ConfigurationError(faults)
    return engine
