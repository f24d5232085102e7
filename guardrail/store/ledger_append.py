"""Appending to the ledger: what is written stays written."""

import fcntl
import os
from pathlib import Path
from typing import Any

import yaml

from guardrail.errors import UsageError
from guardrail.spec.faults import ConfigurationError
from guardrail.spec.yaml_lines import parse_yaml
from guardrail.spec.yaml_scalars import resolve
from guardrail.store.ledger import EXPECTED, Entry, Ledger, parse_ledger
from guardrail.store.ledger_row import Row

_HEADER = "# Append-only: a correction is a new row. See docs/ledger.md.\nversion: 1\nrows:\n"
_INDENT = "  "


def append_row(path: Path, row: Row) -> Entry:
    """Append a row, under a lock, in one write; not a byte before it changes.

    Args:
        path: The ledger; begun where it does not exist.
        row: The new row.

    Returns:
        The row as it is read back, with its line.

    Raises:
        ConfigurationError: The ledger is wrong; nothing is written.
        UsageError: It would be wrong with this row, or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        before = _read(descriptor).decode("utf-8", errors="surrogateescape")
        if before:
            parse_ledger(before, path)
        added = ("" if before else _HEADER) + _as_yaml(row)
        _refuse_unwritable(_HEADER + _as_yaml(row), path)
        after = _with(before, added, path)
        if after.entries[-1].row != row:
            raise UsageError(f"{path}: its last key must be 'rows', so that rows can be appended to it")
        _write(descriptor, added.encode())
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        os.close(descriptor)
    return after.entries[-1]


def _refuse_unwritable(text: str, path: Path) -> None:
    """Refuse a row that no file could hold."""
    try:
        parse_yaml(text, str(path), EXPECTED)
    except ConfigurationError as error:
        raise _refusal(error, path) from None


def _with(before: str, added: str, path: Path) -> Ledger:
    """Read the ledger as it would be; its new lines are in no file yet, so faults in them have no place."""
    try:
        parse_yaml(before + added, str(path), EXPECTED)
    except ConfigurationError:
        raise UsageError(
            f"{path}: no row can be appended; its last key must be 'rows', with each row below it as "
            f"'{_INDENT}- id: ...'"
        ) from None
    try:
        return parse_ledger(before + added, path)
    except ConfigurationError as error:
        raise _refusal(error, path) from None


def _refusal(error: ConfigurationError, path: Path) -> UsageError:
    reasons = "; ".join(fault.message for fault in error.faults)
    return UsageError(f"{path}: this row cannot be appended: {reasons}")


def _read(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as stream:
        stream.seek(0)
        return stream.read()


def _write(descriptor: int, content: bytes) -> None:
    """Write all of it, or nothing: half a row would block every later one."""
    size = os.fstat(descriptor).st_size
    written = os.write(descriptor, content)
    if written < len(content):
        os.ftruncate(descriptor, size)
        raise OSError(0, "the disk is full")
    os.fsync(descriptor)


class _Quoted(str):
    """Text that is written in quotes."""


class _Dumper(yaml.SafeDumper):
    """Quotes every text that guardrail's reader would take for something else."""


def _quoted(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(value), style='"')


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    if isinstance(resolve(value), str):
        return dumper.represent_str(value)
    return _quoted(dumper, value)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(_Quoted, _quoted)


def _as_yaml(row: Row) -> str:
    """Write a row such that no part of it reads as a row: the key that ends it is required and in quotes."""
    stated = row.stated()
    stated["mechanism"] = _Quoted(stated.pop("mechanism"))
    written: Any = yaml.dump([stated], Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return "".join(_INDENT + line for line in str(written).splitlines(keepends=True))
