"""Numbers and units as Nsight Compute writes them into CSV."""

import re

from guardrail.errors import UsageError

_DIGITS = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(_DIGITS)
_OTHER_LOCALE = re.compile(
    r"\d{1,3}(?:\.\d{3})+(?:,\d+|\.\d{3})|\d+,\d{1,2}|\d{1,3}(?:['\u2019\u00a0\u202f]\d{3})+.*"
)
_WITHOUT_VALUE = re.compile(r"|n/a|[-+]?nan|[-+]?inf|no (?:value|data)", re.IGNORECASE)
_LISTED = re.compile(rf"{_DIGITS} *\(.*\)")
"""A number with those of its instances behind it."""
_UNIT = re.compile(r"([numKMGT]?)(second|byte|cycle|Hz|hz)|(ns|us|ms|s)")
_SCALES = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_NS_PER_SECOND = 1e9

_TIME = re.compile(r"\w+__time_\w+\.(?:sum|avg|min|max)")
_SIZE = re.compile(r"\w+__bytes\w*\.(?:sum|avg|min|max)|launch__shared_mem_per_block_(?:static|dynamic)")


def parse_number(text: str, place: str, *, words: bool = False) -> float | None:
    """Read a number with thousands separators.

    Args:
        text: A cell: ``1,733,098.67``.
        place: File, line and column, for errors.
        words: Whether a word may stand there as well.

    Returns:
        None where the cell holds none: empty, ``nan``, ``no value``, or a word.

    Raises:
        UsageError: It was written under another language's rules, so that its commas cannot be trusted, or is
            no number.
    """
    cell = text.strip()
    if _NUMBER.fullmatch(cell):
        return float(cell.replace(",", ""))
    if _OTHER_LOCALE.fullmatch(cell):
        raise UsageError(
            f"{place}: expected a number as in 1,234.5, not {cell!r}; write the report again under LC_ALL=C"
        )
    if not (words or _WITHOUT_VALUE.fullmatch(cell) or _LISTED.fullmatch(cell)):
        raise UsageError(f"{place}: expected a number as in 1,234.5, not {cell[:60]!r}; the cell is damaged")
    return None


def base_unit_factor(unit: str) -> float:
    """Give the factor to base units: nanoseconds for times, else bytes, cycles, seconds under a slash.

    Args:
        unit: As in the units row: ``us``, ``usecond``, ``Mbyte``, ``Gbyte/second``, ``cycle/nsecond``.
    """
    numerator, slash, denominator = unit.partition("/")
    factor = _scale(numerator)
    if slash:
        return factor / _scale(denominator)
    return factor * _NS_PER_SECOND if _is_time(numerator) else factor


def require_unit(name: str, unit: str, place: str) -> None:
    """Refuse a unit that a time or a number of bytes cannot be in: its factor is not known.

    Args:
        name: The counter.
        unit: As in the units row.
        place: File and line, for errors.

    Raises:
        UsageError: It is no unit of what the counter counts.
    """
    for pattern, is_fit, expected in (
        (_TIME, _is_time, "a time (ns, us, ms, s)"),
        (_SIZE, _is_size, "bytes (byte, Kbyte, Mbyte, Gbyte)"),
    ):
        if pattern.fullmatch(name) and not is_fit(unit):
            raise UsageError(
                f"{place}: {name}: expected a unit of {expected}, not {unit!r}; "
                "write the report again with --print-units base"
            )


def _scale(unit: str) -> float:
    match = _UNIT.fullmatch(unit)
    if match is None:
        return 1.0
    return _SCALES[match[3].removesuffix("s") if match[3] else match[1]]


def _is_time(unit: str) -> bool:
    match = _UNIT.fullmatch(unit)
    return match is not None and (match[2] == "second" or bool(match[3]))


def _is_size(unit: str) -> bool:
    match = _UNIT.fullmatch(unit.removesuffix("/block"))
    return match is not None and match[2] == "byte"
