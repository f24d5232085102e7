"""Which profiler wrote a file."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from guardrail.errors import NothingReadError, UsageError
from guardrail.records.launch import Trace
from guardrail.traces.chrome import chrome_trace
from guardrail.traces.ncu_csv import is_ncu_csv, read_ncu_csv
from guardrail.traces.nsys_sqlite import is_sqlite, read_nsys_sqlite
from guardrail.traces.plausible import require_plausible
from guardrail.traces.proton import is_proton, read_proton
from guardrail.traces.saved import is_saved, saved_trace

EXPECTED = (
    "CSV of ncu (--csv --page raw), an SQLite export of nsys, a Chrome trace of torch.profiler (.json or "
    ".json.gz), a Proton profile (.hatchet), JSON of `guardrail profile --json`, an .ncu-rep or an .nsys-rep"
)
_GZIP = b"\x1f\x8b"


def read_trace_file(path: Path) -> Trace:
    """Read a profiler's file, whatever its name says.

    Args:
        path: An existing file, or not.

    Returns:
        What it recorded of the GPU, at least one launch.

    Raises:
        UsageError: It cannot be read, or is none of the known formats, or damaged.
        NothingReadError: It holds no work of a GPU.
    """
    source = str(path)
    trace = _read(path, _bytes(path), source)
    if not trace.launches:
        raise NothingReadError(f"{source}: holds no kernel, copy or fill, so there is nothing to show")
    require_plausible(trace)
    return trace


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except IsADirectoryError:
        raise UsageError(f"{path}: a folder; expected {EXPECTED}") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    if not data:
        raise UsageError(f"{path}: empty; expected {EXPECTED}")
    return data


def _read(path: Path, data: bytes, source: str) -> Trace:
    if is_sqlite(data):
        return read_nsys_sqlite(path, source)
    if data.startswith(_GZIP):
        data = _unpacked(data, source)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{source}: not a report that guardrail knows; expected {EXPECTED}") from None
    if is_ncu_csv(text):
        return read_ncu_csv(text, source)
    if text.lstrip()[:1] in ("{", "["):
        return _json_trace(text, source)
    if text.startswith("=="):
        return read_ncu_csv(text, source)
    raise UsageError(f"{source}: not a report that guardrail knows; expected {EXPECTED}")


def _unpacked(data: bytes, source: str) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(
            f"{source}: a damaged or truncated gzip file ({error}); expected {EXPECTED}"
        ) from None


def _json_trace(text: str, source: str) -> Trace:
    try:
        document: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{source}:{error.lineno}: the JSON breaks off or is damaged here ({error.msg}); "
            f"expected {EXPECTED}"
        ) from None
    except ValueError as error:  # a number of thousands of digits
        raise UsageError(f"{source}: the JSON is damaged ({error}); expected {EXPECTED}") from None
    except RecursionError:
        raise UsageError(f"{source}: the JSON is nested too deeply; expected {EXPECTED}") from None
    if is_saved(document):
        return saved_trace(document, source)
    if is_proton(document):
        return read_proton(document, source)
    if (isinstance(document, dict) and "traceEvents" in document) or isinstance(document, list):
        return chrome_trace(document, source)
    raise UsageError(f"{source}: JSON, and no trace; expected {EXPECTED}")
