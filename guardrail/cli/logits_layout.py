"""What a command line says of files without shapes and names."""

from guardrail.adapters.logits.dump_files import Layout
from guardrail.errors import UsageError


def parse_layout(shape: str | None, vocabulary: int | None, tensor: str | None) -> Layout:
    """Read ``--shape 1,152064`` or ``--vocabulary 152064``, and ``--tensor``.

    Raises:
        UsageError: The shape is no list of whole numbers from 1 on, or both are given.
    """
    if shape is not None and vocabulary is not None:
        raise UsageError("--shape and --vocabulary are both given; a shape states both, leave one out")
    return Layout(_parse_shape(shape), vocabulary, tensor)


def _parse_shape(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        shape = tuple(int(part) for part in text.split(","))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1:
        raise UsageError(f"--shape {text!r}: expected whole numbers with commas between them: 1,152064")
    return shape
