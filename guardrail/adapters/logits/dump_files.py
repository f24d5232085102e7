"""Dumps of logits on disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardrail.adapters.logits.formats import Contents, encode_safetensors, read_file, shaped
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
    """Shape of the logits in a raw file."""
    vocabulary: int | None = None
    """Length of one row of logits in a raw file, where the shape is not stated."""
    tensor: str | None = None
    """Which tensor holds the logits, where none is named ``logits``."""

    @property
    def raw_shape(self) -> tuple[int, ...] | None:
        """Give the shape that is stated for a raw file, -1 for as many rows as there are."""
        if self.shape is None and self.vocabulary is not None:
            return -1, self.vocabulary
        return self.shape

    def refuse_unused(self, *files: object) -> None:
        """Refuse a shape that is stated for nothing but files with shapes of their own.

        Raises:
            UsageError: One is stated.
        """
        if self.raw_shape is not None:
            option = "--vocabulary" if self.shape is None else "--shape"
            named = " and ".join(map(str, files))
            own = "states its own" if len(files) == 1 else "state their own"
            raise UsageError(f"{option} is for a raw .f32 file, which states no shape; {named} {own}")


def read_dumps(paths: Sequence[Path], layout: Layout) -> list[Dump]:
    """Read the dumps of one command line.

    Args:
        paths: The files.
        layout: What is stated for those of them that leave it open.

    Raises:
        UsageError: There is no such file, or a shape is stated and none of them is a raw file.
        MeasurementError: One cannot be read, or does not say which of its tensors holds logits.
    """
    contents = [read_file(path) for path in paths]
    if all(content.has_shapes for content in contents):
        layout.refuse_unused(*paths)
    return [_dump_of(path, content, layout) for path, content in zip(paths, contents, strict=True)]


def _dump_of(path: Path, contents: Contents, layout: Layout) -> Dump:
    name = _logits_name(contents.tensors, layout, path)
    shape = None if contents.has_shapes else layout.raw_shape
    logits = as_logits(contents.tensors[name], shape, str(path))
    further = {key: array for key, array in contents.tensors.items() if key != name}
    return Dump(str(path), logits, further, from_metadata(contents.metadata, str(path)))


def as_logits(array: "NDArray[Any]", shape: Sequence[int] | None, what: str) -> "NDArray[Any]":
    """Bring an array to fp32 [sequences, vocabulary] without changing a number.

    Args:
        array: Logits, as they were read.
        shape: What a raw file was stated to have; None where the array has its own.
        what: Where they come from, for the message.

    Raises:
        MeasurementError: They have another shape, are not floating-point, or are no fp32 numbers.
    """
    import numpy as np

    if shape is not None:
        array = shaped(array, shape, what)
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
