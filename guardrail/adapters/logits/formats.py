"""The file formats that logits and other tensors come in."""

import json
import stat
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardrail.errors import MeasurementError, ToolMissingError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Tensors = dict[str, "NDArray[Any]"]

_SAFETENSORS_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "<i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "<u1",
    "BOOL": "|b1",
}
_BFLOAT16 = "BF16"
_NUMBERS = "fiub"
_HEADER_LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True)
class Contents:
    """What one file holds."""

    tensors: Tensors
    """By name; the name is empty where a file of one tensor has none."""
    metadata: Mapping[str, str]
    has_shapes: bool = True
    """Whether the file states the shapes of its tensors; a raw one does not."""


def read_file(path: Path) -> Contents:
    """Read every tensor of a ``.npy``, ``.npz``, ``.safetensors`` or raw little-endian ``.f32`` file.

    Raises:
        UsageError: There is no such file, or it is a folder.
        MeasurementError: It cannot be read as what its ending says.
        ToolMissingError: A library that reads it is not installed.
    """
    try:
        contents = _reader(path)(path)
    except ModuleNotFoundError as error:
        raise _missing(error.name or str(error)) from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"{path}: there is no such file") from error
    except OSError as error:
        raise MeasurementError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise MeasurementError(f"{path}: not a readable {path.suffix} file: {error}") from error
    for name, array in contents.tensors.items():
        if array.dtype.kind not in _NUMBERS:
            shown = f"{path}: {name}" if name else str(path)
            raise MeasurementError(f"{shown}: expected numbers, not {array.dtype}")
    return contents


def _reader(path: Path) -> Callable[[Path], Contents]:
    if stat.S_ISDIR(path.stat().st_mode):
        raise UsageError(f"{path}: this is a folder, not a file")
    reader = _READERS.get(path.suffix)
    if reader is None:
        raise MeasurementError(f"{path}: expected a file that ends with {', '.join(SUFFIXES)}")
    return reader


def encode_safetensors(tensors: "Mapping[str, NDArray[Any]]", metadata: Mapping[str, str]) -> bytes:
    """Write tensors with metadata in the safetensors format.

    Raises:
        ToolMissingError: The library that writes it is not installed.
    """
    try:
        import numpy as np
        from safetensors.numpy import save
    except ModuleNotFoundError as error:
        raise _missing(error.name or str(error)) from error
    contiguous = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    content: bytes = save(contiguous, dict(metadata))
    return content


def shaped(array: "NDArray[Any]", shape: Sequence[int], what: str) -> "NDArray[Any]":
    """Give a flat array the shape that was stated for it; one part of it may be -1.

    Raises:
        MeasurementError: It has another number of elements.
    """
    try:
        return array.reshape(tuple(shape))
    except ValueError as error:
        raise MeasurementError(
            f"{what}: {array.size} elements do not fill the shape {list(shape)}"
        ) from error


def _read_npy(path: Path) -> Contents:
    import numpy as np

    with path.open("rb") as stream:
        # np.load would take a file that is none for a pickle, and advise to trust it.
        return Contents({"": np.lib.format.read_array(stream, allow_pickle=False)}, {})


def _read_npz(path: Path) -> Contents:
    import numpy as np

    with path.open("rb") as stream:
        if not zipfile.is_zipfile(stream):
            raise ValueError("it is no zip archive")
    with np.load(path, allow_pickle=False) as archive:
        return Contents({name: archive[name] for name in archive.files}, {})


def _read_f32(path: Path) -> Contents:
    import numpy as np

    content = path.read_bytes()
    if len(content) % 4:
        raise ValueError(f"{len(content)} bytes are no whole number of fp32 values")
    return Contents({"": np.frombuffer(content, dtype="<f4")}, {}, has_shapes=False)


def _read_safetensors(path: Path) -> Contents:
    from safetensors import SafetensorError, deserialize

    content = path.read_bytes()
    try:
        found = deserialize(content)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    tensors = {name: _decode(name, stated) for name, stated in found}
    length = int.from_bytes(content[:_HEADER_LENGTH_BYTES], "little")
    header = json.loads(content[_HEADER_LENGTH_BYTES : _HEADER_LENGTH_BYTES + length])
    return Contents(tensors, header.get("__metadata__", {}))


def _decode(name: str, stated: Mapping[str, Any]) -> "NDArray[Any]":
    import numpy as np

    kind, data = stated["dtype"], bytes(stated["data"])
    if kind == _BFLOAT16:
        # bfloat16 is the upper half of a float32.
        halves = np.frombuffer(data, dtype="<u2").astype("<u4")
        return (halves << 16).view("<f4").reshape(stated["shape"])
    if kind not in _SAFETENSORS_TYPES:
        raise ValueError(f"tensor {name!r} is of type {kind}, which is not compared; store float32")
    return np.frombuffer(data, dtype=_SAFETENSORS_TYPES[kind]).reshape(stated["shape"])


def _missing(module: str) -> MeasurementError:
    purpose, remedy = "read and write dumps of logits", "Run: pip install 'gpu-guardrail[gpu]'"
    return ToolMissingError(module, purpose, remedy)


_READERS: Mapping[str, Callable[[Path], Contents]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".safetensors": _read_safetensors,
    ".f32": _read_f32,
}

SUFFIXES = tuple(_READERS)
"""Endings of files that can be read."""
