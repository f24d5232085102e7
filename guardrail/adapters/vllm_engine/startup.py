"""The KV budget of an engine that is booted for it. Runs in a worker for commands."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from guardrail.adapters.private_caches import Caches
from guardrail.adapters.vllm_engine.process import boot_vllm
from guardrail.compiled.file_subject import FileSubject
from guardrail.errors import MeasurementError, UsageError
from guardrail.kvlog.parse import parse_log
from guardrail.kvlog.saved import read_startup
from guardrail.kvlog.startup import Startup
from guardrail.probes.kv_budget import budget_rows
from guardrail.records.cache import Cache
from guardrail.spec.engine_files import VllmEngine, is_engine_file, load_engine


def boot_and_read_budget(
    subject: FileSubject, against: str | None, planned_bytes: int | None, ignored: list[str]
) -> list[dict[str, Any]]:
    """Read the budget of a start as `guardrail.probes.kv_budget.read_budget` does, booting what is an engine.

    Two engines that are booted to be compared both compile, into caches of their own: from a shared one the
    second would load what the first had compiled, and a start that loads takes other memory.

    Raises:
        GuardrailError: An engine does not start, or a log cannot be read.
    """
    two = against is not None and is_engine_file(subject.path) and is_engine_file(against)
    with Caches.opened(Cache.FRESH if two else Cache.SHARED) as caches:
        startup = _startup(subject.path, caches.variables("subject"))
        before = None if against is None else _startup(against, caches.variables("against"))
    return budget_rows(startup, before, planned_bytes, ignored)


def start_engine(path: Path, variables: Mapping[str, str] | None = None) -> Startup:
    """Boot an engine, read its start from its log, and end it.

    Args:
        path: Its description.
        variables: Environment variables beneath its own, as its compile caches.

    Raises:
        UsageError: It is no engine that can be booted.
        MeasurementError: It does not start, or its log and its configuration tell different sizes.
    """
    engine = load_engine(path)
    if not isinstance(engine, VllmEngine):
        raise UsageError(f"{path}: a start is read from an engine of kind vllm, not {engine.engine}")
    beneath = {name: value for name, value in (variables or {}).items() if name not in engine.environment}
    booted = boot_vllm(engine, path.resolve().parent, [], beneath)
    startup = parse_log(booted.log, str(path))
    configured, blocks = booted.facts["kv_tokens"], booted.facts["num_gpu_blocks"]
    logged = [each.readings["kv_tokens"].value for each in startup.engines]
    if configured is not None and len(logged) == 1 and logged[0] != configured:
        raise MeasurementError(
            f"{path}: the log tells of {logged[0]} KV tokens, the engine's configuration of {configured}"
        )
    told = {"num_gpu_blocks": str(blocks), "block_size": str(booted.facts["block_size"])}
    return replace(startup, settings={**startup.settings, **told})


def _startup(path: str, variables: Mapping[str, str]) -> Startup:
    return start_engine(Path(path), variables) if is_engine_file(path) else read_startup(Path(path))
