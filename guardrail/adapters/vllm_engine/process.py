"""Starting an engine in a process of its own."""

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardrail.adapters.commands import run_command
from guardrail.errors import MeasurementError
from guardrail.spec.engine_files import TransformersEngine, VllmEngine

_HERE = Path(__file__).parent
_CAUSE = re.compile(r"\b(?!SystemExit)[A-Z]\w*(?:Error|Exception): .+")
_QUOTED = 300

Ask = tuple[str, Mapping[str, Any]]
"""A method of `guardrail.adapters.vllm_engine.offline.Engine` with its arguments."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What one boot gave."""

    facts: Mapping[str, Any]
    """What the engine says of itself."""
    answers: Sequence[Any]
    """One for each ask."""
    log: str
    """Everything that the engine's processes printed."""


def boot_vllm(
    engine: VllmEngine, folder: Path, asks: Sequence[Ask], variables: Mapping[str, str] | None = None
) -> Answered:
    """Boot vLLM, ask it, and end it.

    Args:
        engine: Its description.
        folder: Where it runs: the folder of its description.
        asks: What is asked of it, in order.
        variables: Environment variables on top of its own, as its compile caches.

    Raises:
        MeasurementError: It does not start, fails, or takes too long; with what it said first.
    """
    environment = {
        # A start is read from its log, which the user's own settings might hide or colour.
        "VLLM_LOGGING_LEVEL": "INFO",
        "VLLM_CONFIGURE_LOGGING": "1",
        "VLLM_NO_USAGE_STATS": "1",
        **engine.environment,
        **(variables or {}),
    }
    request = {"arguments": engine.arguments, "asks": asks}
    return _run("offline.py", engine.python, request, folder, environment, engine.timeout_seconds)


def run_transformers(engine: TransformersEngine, folder: Path, prompts: Sequence[Sequence[int]]) -> Answered:
    """Run a Hugging Face model on prompts of token ids.

    Raises:
        MeasurementError: It fails, or takes too long; with what it said first.
    """
    request = {"model": str(folder / engine.model), "prompts": prompts}
    environment = {"HF_HUB_OFFLINE": "1"}
    return _run("transformers_logits.py", engine.python, request, folder, environment, engine.timeout_seconds)


def _run(
    script: str,
    python: str | None,
    request: Mapping[str, Any],
    folder: Path,
    variables: Mapping[str, str],
    timeout: float,
) -> Answered:
    with tempfile.TemporaryDirectory(prefix="guardrail-engine-") as scratch:
        asked, answers, log = (Path(scratch, name) for name in ("request", "answers", "log"))
        asked.write_text(json.dumps(request), encoding="utf-8")
        # -P: the script's own folder would shadow packages of the same names.
        command = [_interpreter(python, folder), "-P", *map(str, (_HERE / script, asked, answers, log))]
        try:
            run_command(command, folder, {**os.environ, **variables}, timeout)
            given = json.loads(answers.read_text(encoding="utf-8"))
        except MeasurementError as error:
            raise MeasurementError(_explained(error, command[0], _read(log))) from error
        except (OSError, ValueError) as error:
            raise MeasurementError(f"{command[0]} ended without answers: {error}") from error
        return Answered(given["facts"], given["answers"], _read(log))


def _interpreter(python: str | None, folder: Path) -> str:
    if python is None:
        return sys.executable
    expanded = Path(python).expanduser()
    return str(folder / expanded) if "/" in python else python


def _read(log: Path) -> str:
    return log.read_bytes().decode(errors="replace") if log.is_file() else ""


def _explained(error: MeasurementError, python: str, log: str) -> str:
    """Say in place of the script's command what the engine said, whose first error is the cause."""
    how = re.sub(r"^'.*?' ", "", str(error), count=1).partition("; it said")[0]
    errors = [line for line in log.splitlines() if "WARNING" not in line and _CAUSE.search(line)]
    named = [match[0][:_QUOTED] for line in errors if (match := _CAUSE.search(line))]
    if named:
        return f"the engine ({python}) {how}; it said first: {named[0]}"
    lines = [line for line in log.splitlines() if line.strip()]
    said = f"; it said last: {lines[-1][:_QUOTED]}" if lines else "; it said nothing"
    return f"the engine ({python}) {how}{said}"
