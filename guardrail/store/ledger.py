"""The ledger: every lever that was tried, so that nobody tries it again unawares."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from guardrail.errors import UsageError
from guardrail.spec.faults import ConfigurationError, Fault
from guardrail.spec.fields import Strict
from guardrail.spec.files import read_text
from guardrail.spec.suggest import did_you_mean
from guardrail.spec.validation import validate
from guardrail.spec.yaml_lines import Document, parse_yaml
from guardrail.store.ledger_row import Row

DEFAULT_LEDGER = Path("ledger.yaml")
EXPECTED = "expected a ledger, which 'guardrail ledger add' begins"
_WORD = re.compile(r"[\w.-]{3,}")


class LedgerFile(Strict):
    """The whole of a ledger."""

    version: Literal[1] = Field(description="Version of the format.")
    rows: list[Any] = Field(description="The rows, oldest first; new ones are appended.")


@dataclass(frozen=True, slots=True)
class Entry:
    """A row with its place in the file."""

    row: Row
    line: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """The rows of a ledger, oldest first."""

    path: Path
    entries: tuple[Entry, ...] = ()

    def find(self, name: str) -> Entry:
        """Find a row by its id.

        Raises:
            UsageError: There is none.
        """
        for entry in self.entries:
            if entry.row.id == name:
                return entry
        hint = did_you_mean(name, [entry.row.id for entry in self.entries])
        raise UsageError(f"{self.path} has no row {name!r}{hint}")

    def related(self, name: str) -> list[Entry]:
        """List the rows that register, report or correct a row."""
        row = self.find(name).row
        names = {row.registered, row.corrects} - {None}
        return [
            entry
            for entry in self.entries
            if entry.row.id in names or name in (entry.row.registered, entry.row.corrects)
        ]

    def search(self, words: Sequence[str]) -> list[Entry]:
        """Find the rows that hold every one of some words, in any case and anywhere."""
        wanted = [word.lower() for word in words]
        return [entry for entry in self.entries if all(word in entry.row.text() for word in wanted)]

    def prior_art(self, text: str, most: int = 5) -> list[Entry]:
        """Find the rows that share words with a sentence, those that share most first.

        Args:
            text: What is about to be tried.
            most: Rows to return at most.
        """
        wanted = {word for word in _WORD.findall(text.lower()) if word not in _COMMON}
        scored = [
            (len(wanted & set(_WORD.findall(entry.row.text()))), entry.line, entry) for entry in self.entries
        ]
        needed = min(2, len(wanted))
        found = [item for item in scored if item[0] >= needed > 0]
        return [entry for _, _, entry in sorted(found, key=lambda item: (-item[0], item[1]))][:most]


_COMMON = frozenset(
    (
        "and",
        "are",
        "but",
        "for",
        "from",
        "has",
        "its",
        "more",
        "not",
        "one",
        "per",
        "than",
        "that",
        "the",
        "with",
    )
)


def read_ledger(path: Path) -> Ledger:
    """Read a ledger.

    Raises:
        ConfigurationError: There is no such file, or it is wrong; all of its faults, each with its line.
    """
    return parse_ledger(read_text(path, EXPECTED), path)


def read_begun_ledger(path: Path) -> Ledger:
    """Read a ledger that a row is going to be added to; one that is not begun yet has no rows.

    Raises:
        ConfigurationError: The file is wrong; all of its faults, each with its line.
    """
    return read_ledger(path) if path.exists() else Ledger(path)


def parse_ledger(text: str, path: Path) -> Ledger:
    """Read the text of a ledger.

    Raises:
        ConfigurationError: It is wrong; all of its faults, each with its line.
    """
    if not text:
        # A refused first row leaves an empty file behind: removing it could take another row along.
        return Ledger(path)
    if not text.endswith("\n"):
        last = text.count("\n") + 1
        message = "the last line is cut short: the row above it may be incomplete; complete or remove it"
        raise ConfigurationError([Fault(str(path), last, message)])
    document = parse_yaml(text, str(path), EXPECTED)
    stated = document.data
    if "rows" in stated and stated["rows"] is None:
        stated = {**stated, "rows": []}  # begun by hand, so that the first row can be added
    rows = stated.get("rows")
    _, faults = validate(LedgerFile, document, stated)
    entries: list[Entry] = []
    for index, data in enumerate(rows if isinstance(rows, list) else ()):
        row, found = validate(Row, document, data, ("rows", index))
        faults += found
        if row is not None:
            faults += _misplaced(document, index, row, entries)
            entries.append(Entry(row, document.line("rows", index)))
    if faults:
        raise ConfigurationError(set(faults))
    return Ledger(path, tuple(entries))


def _misplaced(document: Document, index: int, row: Row, earlier: Sequence[Entry]) -> Iterator[Fault]:
    """Find an id that is taken, and a row that refers to none before it."""
    known = {entry.row.id: entry for entry in earlier}
    at = ("rows", index)
    if row.id in known:
        yield document.fault(f"the id {row.id!r} is used on line {known[row.id].line} already", *at, "id")
    for key in ("registered", "corrects"):
        name = getattr(row, key)
        if name is not None and name not in known:
            yield document.fault(
                f"{key}: no earlier row is named {name!r}{did_you_mean(name, known)}", *at, key
            )
    if row.registered in known and known[row.registered].row.verdict != "registered":
        yield document.fault(f"registered: the row {row.registered!r} registered nothing", *at, "registered")
