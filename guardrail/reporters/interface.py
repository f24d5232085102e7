"""What every reporter can do."""

from typing import Protocol

from guardrail.records.report import RunReport


class Reporter(Protocol):
    """Turns a run into text. It neither prints nor opens a file; its caller does."""

    def render(self, report: RunReport) -> str:
        """Write a whole run in one format.

        Args:
            report: The run.

        Returns:
            The text, ending in a newline.
        """
