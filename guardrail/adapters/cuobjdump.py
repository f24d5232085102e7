"""Kernel resources out of binaries, by NVIDIA's ``cuobjdump``."""

import contextlib
import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from guardrail.adapters.demangle import demangle
from guardrail.compiled.elf import HEADER_BYTES, ElfHeader, parse_elf_header
from guardrail.compiled.resource_usage import parse_resource_usage
from guardrail.compiled.resources import KernelResources
from guardrail.errors import MeasurementError, NothingReadError, ToolMissingError

_VERSION = re.compile(r"\bV(\d+\.\d+\.\d+)")
_WHEELS = (("nvidia", "cu*/bin/cuobjdump"), ("triton", "backends/nvidia/bin/cuobjdump"))
_PIPE_BYTES = 1 << 20
_NAP_SECONDS = 0.004
_NO_DEVICE_CODE = "does not contain device code"


def find_cuobjdump() -> Path:
    """Find the tool: NVIDIA's own wheel, Triton's, then PATH.

    Raises:
        ToolMissingError: It is nowhere.
    """
    for package, pattern in _WHEELS:
        if found := _in_package(package, pattern):
            return found[0]
    if on_path := shutil.which("cuobjdump"):
        return Path(on_path)
    raise ToolMissingError("cuobjdump", "read compiled kernels", "Run: pip install nvidia-cuda-cuobjdump")


def read_header(path: Path) -> ElfHeader | None:
    """Read a file's ELF header; None where it is no ELF file.

    Raises:
        MeasurementError: The file is shorter than its header says.
    """
    with path.open("rb") as file:
        header = parse_elf_header(file.read(HEADER_BYTES))
    if header is not None and path.stat().st_size < header.end_of_tables:
        raise MeasurementError(
            f"{path}: truncated: {path.stat().st_size} bytes, and its header speaks of {header.end_of_tables}"
        )
    return header


def read_binary(path: Path, toolchain: str | None = None) -> Iterator[KernelResources]:
    """Read every kernel of a cubin or of an ELF library with embedded cubins, while cuobjdump still runs.

    Args:
        path: The binary.
        toolchain: What compiled it; cuobjdump and its version where that is not known.

    Yields:
        The kernels in file order.

    Raises:
        ToolMissingError: There is no cuobjdump.
        NothingReadError: The library holds no device code.
        MeasurementError: The binary is damaged.
    """
    tool = find_cuobjdump()
    header = read_header(path)
    reader = toolchain or f"cuobjdump {_version(tool)}"
    with tempfile.TemporaryFile("w+") as complaints:
        command = [str(tool), "--dump-resource-usage", str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints) as process:
            assert process.stdout is not None
            yield from parse_resource_usage(
                _lines(process.stdout.fileno()),
                demangle=demangle,
                toolchain=reader,
                arch=header.arch if header else None,
            )
        if process.returncode:
            complaints.seek(0)
            raise _failure(path, header, process.returncode, complaints.read().strip())


def _lines(descriptor: int) -> Iterator[bytes]:
    """Read lines a pipe's fill at a time.

    cuobjdump writes word by word, 250,000 times for a large library. A reader that waits in `os.read` is
    woken by every write, which costs both sides more than the work itself; one that naps in between is not.
    """
    with contextlib.suppress(OSError):  # an unprivileged user may be allowed less
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    rest = b""
    while block := os.read(descriptor, _PIPE_BYTES):
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
        time.sleep(_NAP_SECONDS)
    yield rest


def _failure(path: Path, header: ElfHeader | None, code: int, complaint: str) -> Exception:
    if _NO_DEVICE_CODE not in complaint:
        return MeasurementError(f"{path}: cuobjdump failed with exit code {code}: {complaint}")
    if header is not None and header.is_cubin:
        return MeasurementError(f"{path}: a cubin that cuobjdump cannot read: it is truncated or damaged")
    return NothingReadError(f"{path}: holds no device code, so there is nothing to report")


@cache
def _version(tool: Path) -> str:
    output = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout
    found = _VERSION.search(output)
    return found[1] if found else "of unknown version"


def _in_package(package: str, pattern: str) -> list[Path]:
    """List files of an installed package without importing it, newest name first."""
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or []) if spec else []
    return [path for folder in folders for path in sorted(Path(folder).glob(pattern), reverse=True)]
