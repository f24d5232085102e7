"""The shape of logits, as it is written on a command line."""

from guardrail.errors import UsageError


def parse_shape(text: str | None) -> tuple[int, ...] | None:
    """Read ``1,152064``.

    Raises:
        UsageError: It is no list of whole numbers from 1 on.
    """
    if text is None:
        return None
    try:
        shape = tuple(int(part) for part in text.split(","))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1:
        raise UsageError(f"--shape {text!r}: expected whole numbers with commas between them: 1,152064")
    return shape
