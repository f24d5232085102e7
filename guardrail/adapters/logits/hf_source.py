"""Dumps of a Hugging Face causal model."""

import importlib.util
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from guardrail.adapters.device import executing_gpu
from guardrail.adapters.logits.sources import Dumped, file_hash, surroundings
from guardrail.adapters.logits.worker import run_in_worker
from guardrail.errors import ToolMissingError, UsageError
from guardrail.logits.dump import Identity
from guardrail.logits.packing import unpack
from guardrail.logits.prompts import check_prompts

_CONFIG = "config.json"
_BUILD_FILES = ("*.json", "*.safetensors", "*.bin")


def dump_hf_model(path: Path, prompts: Sequence[Sequence[int]] | None) -> Dumped:
    """Run a model from a folder on equally long prompts.

    Raises:
        UsageError: There is no such model, or the prompts are not fit for it.
        ToolMissingError: transformers is not installed.
        MeasurementError: It could not run.
    """
    if not (path / _CONFIG).is_file():
        raise UsageError(f"--hf {path}: expected the folder of a model, with its {_CONFIG}")
    if prompts is None:
        raise UsageError("--hf needs --prompt-ids 1,2,3: a model says nothing without a prompt")
    check_prompts(prompts, None, str(path))
    if importlib.util.find_spec("transformers") is None:
        remedy = "Run: pip install transformers"
        raise ToolMissingError("transformers", "run a Hugging Face model", remedy)
    gpu = executing_gpu()
    begun = surroundings(gpu)
    found = run_in_worker(
        "guardrail.adapters.logits.hf_run:run_hf_model",
        {"path": str(path.resolve()), "prompts": prompts},
        gpu,
        f"--hf {path}",
    )
    check_prompts(prompts, found["vocabulary"], str(path))
    files = sorted(file for pattern in _BUILD_FILES for file in path.glob(pattern))
    identity = Identity(
        engine=f"transformers {metadata.version('transformers')}, {path}",
        build=file_hash(*files),
        prompts=tuple(map(tuple, prompts)),
        mode="eager",
        provenance=begun,
    )
    return Dumped(unpack(found["logits"]), identity)
