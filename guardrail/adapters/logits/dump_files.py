"""Dumps of logits on disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardrail.adapters.logits.formats import encode_safetensors, read_file, shaped
from guardrail.errors import MeasurementError, UsageError
from guardrail.logits.dump import LOGITS, Dump, Identity, from_metadata, to_metadata
from guardrail.store.atomic import write_atomically

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUFFIX = ".safetensors"


@dataclass(frozen=True, slots=True)
class Layout:
    """What a file without shapes and names leaves open."""

    shape: tuple[int, ...] | None = None
    """Shape of the logits."""
    vocabulary: int | None = None
    """Length of one row of logits, where the shape is not stated."""
    tensor: str | None = None
    """Which tensor holds the logits, where none is named ``logits``."""


def read_dump(path: Path, layout: Layout) -> Dump:
    """Read one dump.

    Raises:
        MeasurementError: It cannot be read, or does not say which of its tensors holds logits.
    """
    contents = read_file(path)
    name = _logits_name(contents.tensors, layout, path)
    logits = as_logits(contents.tensors[name], layout, str(path))
    further = {key: array for key, array in contents.tensors.items() if key != name}
    return Dump(str(path), logits, further, from_metadata(contents.metadata, str(path)))


def as_logits(array: "NDArray[Any]", layout: Layout, what: str) -> "NDArray[Any]":
    """Bring an array to fp32 [sequences, vocabulary] without changing a number.

    Args:
        array: Logits, as they were read.
        layout: A shape, where one was stated.
        what: Where they come from, for the message.

    Raises:
        MeasurementError: They have another shape, are not floating-point, or are no fp32 numbers.
    """
    import numpy as np

    if layout.shape is not None:
        array = shaped(array, layout.shape, what)
    elif layout.vocabulary is not None:
        array = shaped(array, (-1, layout.vocabulary), what)
    if array.ndim == 1:
        array = array.reshape(1, -1)
    if array.ndim != 2 or array.size == 0:
        raise MeasurementError(
            f"{what}: logits of shape {list(array.shape)}; expected [vocabulary] or [sequences, vocabulary] "
            "of one step"
        )
    if array.dtype.kind != "f":
        raise MeasurementError(f"{what}: logits are {array.dtype}; expected floating-point numbers")
    with np.errstate(over="ignore"):
        single = array.astype("<f4")
    if not np.array_equal(single.astype(array.dtype), array, equal_nan=True):
        raise MeasurementError(
            f"{what}: its {array.dtype} logits are no fp32 numbers; store float32, for rounding would hide "
            "what differs"
        )
    return single


def check_output(path: Path) -> None:
    """Refuse a file that no dump can be written to, before anything is run for it.

    Raises:
        UsageError: Its ending is another, or there is no such folder.
    """
    if path.suffix != SUFFIX:
        raise UsageError(f"-o {path}: expected a name that ends with {SUFFIX}")
    if not path.parent.is_dir():
        raise UsageError(f"-o {path}: there is no folder {path.parent}")


def write_dump(
    path: Path,
    logits: "NDArray[Any]",
    tensors: "Mapping[str, NDArray[Any]]",
    identity: Identity,
) -> None:
    """Write one dump.

    Raises:
        UsageError: The file cannot be written, or the identity is of other sequences than the logits.
    """
    check_prompts(identity.prompts, logits.shape[0])
    content = encode_safetensors({LOGITS: logits, **tensors}, to_metadata(identity))
    try:
        write_atomically(path, content)
    except OSError as error:
        raise UsageError(f"-o {path}: cannot write: {error.strerror}") from error


def check_prompts(prompts: Sequence[Sequence[int]] | None, sequences: int) -> None:
    """Refuse prompts of other sequences than the logits have.

    Raises:
        UsageError: There are more or fewer.
    """
    if prompts is not None and len(prompts) != sequences:
        raise UsageError(
            f"{len(prompts)} prompts and logits of {sequences} sequences; give --prompt-ids once for each"
        )


def _logits_name(tensors: Mapping[str, Any], layout: Layout, path: Path) -> str:
    if layout.tensor is not None:
        if layout.tensor not in tensors:
            raise MeasurementError(f"{path}: there is no tensor {layout.tensor!r}{_listed(tensors)}")
        return layout.tensor
    if LOGITS in tensors:
        return LOGITS
    if len(tensors) == 1:
        return next(iter(tensors))
    raise MeasurementError(f"{path}: no tensor is named {LOGITS!r}{_listed(tensors)}; name one with --tensor")


def _listed(tensors: Mapping[str, Any]) -> str:
    return f"; it has {', '.join(sorted(tensors)) or 'none'}"
