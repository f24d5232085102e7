"""The rows that a comparison of ``guardrail ab`` writes into the ledger."""

from collections.abc import Sequence
from pathlib import Path

from guardrail.ab.comparison import Comparison
from guardrail.ab.records import Lever, registration, require_unused, result
from guardrail.ab.terms import Terms
from guardrail.store.ledger import Entry, read_begun_ledger
from guardrail.store.ledger_append import append_row


class Rows:
    """One comparison's two rows: its criterion, before the first run that counts, and its result.

    Args:
        path: The ledger.
        lever: What is tried.
        terms: What decides.

    Raises:
        ConfigurationError: The ledger is wrong.
        UsageError: The id is taken, or what is said of the lever makes no row.
    """

    def __init__(self, path: Path, lever: Lever, terms: Terms) -> None:
        ledger = read_begun_ledger(path)
        require_unused(ledger, lever)
        self._path = path
        self._lever = lever
        self._terms = terms
        self._criterion = registration(lever, terms)
        self._prior_art = ledger.prior_art(f"{lever.id} {lever.what}")
        self._is_registered = False

    @property
    def prior_art(self) -> Sequence[Entry]:
        """What the ledger knew of the like."""
        return self._prior_art

    def register(self) -> str:
        """Append the criterion, and say where it stands.

        Raises:
            ConfigurationError: The ledger has become wrong.
            UsageError: It cannot be written, or another comparison has taken the id.
        """
        append_row(self._path, self._criterion)
        self._is_registered = True
        return f"{self._path}, row {self._lever.id}"

    def conclude(self, found: Comparison) -> str:
        """Append the result, and give the id of its row.

        Raises:
            ConfigurationError: The ledger has become wrong.
            UsageError: It cannot be written.
        """
        return append_row(self._path, result(self._lever, self._terms, found)).row.id

    def left_behind(self) -> str:
        """Say what the ledger keeps of a comparison that ends without a result."""
        if not self._is_registered:
            return f"no run has counted: {self._path} is as it was"
        return (
            f"{self._path} keeps the row {self._lever.id!r} without a result; "
            "another attempt needs another --id"
        )
