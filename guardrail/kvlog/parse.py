"""Reading a start-up log."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from guardrail.errors import MeasurementError
from guardrail.kvlog import dialects
from guardrail.kvlog.budget import engine_of, utilizations, worker_of
from guardrail.kvlog.heard import Heard
from guardrail.kvlog.lines import Line, Process, read_lines
from guardrail.kvlog.remarks import Remarks
from guardrail.kvlog.settings import read_settings, starts_engine
from guardrail.kvlog.startup import UNPREFIXED, Startup

_LONGEST_QUOTE = 160


def parse_log(text: str, source: str) -> Startup:
    """Read one start of vLLM.

    Args:
        text: The whole log; what comes before and after the start does no harm.
        source: The file, for messages.

    Raises:
        MeasurementError: It holds no start, more than one, one that did not finish, or an engine that died.
    """
    processes: dict[Process, Heard] = {}
    settings: dict[str, str] = {}
    remarks = Remarks()
    for line in read_lines(text, dialects.KEYWORDS):
        _require_alive(line, source, started=any(heard.ready for heard in processes.values()))
        heard = processes.setdefault(line.process, Heard())
        if starts_engine(line.text):
            _require_first(line, processes.values(), source)
            heard.started_at = line.number
        settings |= read_settings(line.text)
        heard.hear(line.text)
        remarks.hear(line.text)
    _require_finished(processes.values(), source)
    return _startup(source, processes, settings | remarks.settings(), remarks)


def _require_alive(line: Line, source: str, started: bool) -> None:
    if dialects.OUT_OF_MEMORY.search(line.text):
        ending = "ran out of memory"
    elif not started and dialects.FAILED_START.search(line.text):
        ending = "failed to start"
    else:
        return
    quote = line.text[:_LONGEST_QUOTE]
    raise MeasurementError(
        f"{source}:{line.number}: the engine {ending}, so its budget is no measurement: {quote}"
    )


def _require_first(line: Line, processes: Iterable[Heard], source: str) -> None:
    """Refuse a start after one that has finished: ranks of one engine all begin before any is ready."""
    started = [heard for heard in processes if heard.started_at is not None]
    if any(heard.ready for heard in started):
        first = min(heard.started_at or 0 for heard in started)
        raise MeasurementError(
            f"{source}:{line.number}: a second engine starts here, after the one of line {first}; "
            "keep each start in a file of its own"
        )


def _require_finished(processes: Iterable[Heard], source: str) -> None:
    heard = list(processes)
    if not any(each.sizes or each.tokens or each.started_at for each in heard):
        raise MeasurementError(
            f"{source}: not a line of a start of vLLM; expected the log of 'vllm serve' or of LLM(...) from "
            "its first line on, with VLLM_LOGGING_LEVEL=INFO"
        )
    for each in heard:
        if each.started_at is not None and not each.ready:
            raise MeasurementError(
                f"{source}: the start that begins on line {each.started_at} does not end; expected "
                "'init engine (...) took ...' behind the size of the KV cache. Is the log cut off?"
            )
    if not any(each.ready for each in heard):
        raise MeasurementError(
            f"{source}: the log ends before the start does; expected 'init engine (...) took ...' behind the "
            "size of the KV cache"
        )


def _startup(
    source: str, processes: dict[Process, Heard], settings: dict[str, str], remarks: Remarks
) -> Startup:
    labels = _labels(list(processes))
    eager = settings.get("enforce_eager") == "True"
    stated = settings.get("kv_cache_memory_bytes", "")
    reserved = int(stated) if re.fullmatch(r"\d+", stated) else None
    workers = tuple(
        worker_of(labels[process], heard, reserved, eager)
        for process, heard in processes.items()
        if heard.is_worker
    )
    scheduling = {process: heard for process, heard in processes.items() if heard.tokens}
    engines = tuple(
        engine_of(labels[process], heard, workers, alone=len(scheduling) == 1)
        for process, heard in scheduling.items()
    )
    return Startup(
        source,
        workers,
        engines,
        settings,
        utilizations(settings, list(processes.values()), workers),
        remarks.counts(settings),
    )


def _labels(processes: Sequence[Process]) -> dict[Process, str]:
    """Name processes without their ids, which no two starts share; those of one name are counted."""
    seen: Counter[str] = Counter()
    labels = {}
    for process in processes:
        name = process[0] or UNPREFIXED
        seen[name] += 1
        labels[process] = name if seen[name] == 1 else f"{name} {seen[name]}"
    return labels
