"""The census of a running engine: a line in its log, and a file that a guard can read at any time."""

import atexit
import logging
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from guardrail.families.census import CensusRecord
from guardrail.kernels.int4_attention.census import Census

CENSUS = "GUARDRAIL_VLLM_CENSUS"
"""Environment variable: the census file of rank 0; the other ranks put their number before its ending."""

_LOG = logging.getLogger(__name__)
_WRITE_SECONDS = 1.0
_LOG_SECONDS = 60.0


class CensusFile:
    """Writes a census each second in which it changed, and logs it each minute.

    Args:
        census: What is written.
        path: The file; None to log only.
    """

    def __init__(self, census: Census, path: Path | None) -> None:
        self._census = census
        self._path = path
        self._written: CensusRecord | None = None
        self._logged: CensusRecord | None = None
        self._logged_at = time.monotonic()
        self._closed = threading.Event()
        self._write()
        atexit.register(self.close)
        threading.Thread(target=self._run, name="guardrail-census", daemon=True).start()

    def close(self) -> None:
        """Write and log the last state, once."""
        if not self._closed.is_set():
            self._closed.set()
            atexit.unregister(self.close)
            self._log(self._write())

    def _run(self) -> None:
        while not self._closed.wait(_WRITE_SECONDS):
            record = self._write()
            if time.monotonic() - self._logged_at >= _LOG_SECONDS:
                self._log(record)

    def _write(self) -> CensusRecord:
        record: CensusRecord = self._census.record()
        if self._path is not None and record != self._written:
            try:
                self._census.write(self._path)
            except OSError as error:
                _LOG.error("int4 attention: the census cannot be written, and is only logged: %s", error)
                self._path = None
        self._written = record
        return record

    def _log(self, record: CensusRecord) -> None:
        self._logged_at = time.monotonic()
        if record.calls and record != self._logged:
            _LOG.info("int4 attention: %s", summary(record))
            self._logged = record


def summary(record: CensusRecord) -> str:
    """Say in a line which arms ran, and whether the engine is degraded."""
    arms: Counter[str] = Counter()
    for row in record.taken:
        arms[row.arm] += row.calls
    taken = ", ".join(f"{calls} {arm}" for arm, calls in sorted(arms.items()))
    state = "degraded" if record.degraded else "not degraded"
    return (
        f"{record.calls} host calls ({taken}), {record.eligible_2d} in the 2D arm by accident, "
        f"{record.breaches} breaches, {state}"
    )


def path_of(name: str | None, parallel: Any) -> Path | None:
    """Find the census file of this rank.

    Args:
        name: What the environment names.
        parallel: ParallelConfig.

    Returns:
        The file; None where none is wanted.
    """
    if not name:
        return None
    path = Path(name)
    rank = parallel.data_parallel_rank * parallel.world_size + parallel.rank
    return path if rank == 0 else path.with_name(f"{path.stem}.{rank}{path.suffix}")
