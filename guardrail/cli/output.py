"""Where the reports of one run go."""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from guardrail.cli.check import FORMATS
from guardrail.errors import UsageError
from guardrail.records.report import RunReport
from guardrail.reporters import github
from guardrail.reporters.interface import Reporter
from guardrail.reporters.json import JsonReporter
from guardrail.reporters.junit import JunitReporter
from guardrail.reporters.terminal import TerminalReporter

_FILE_FORMATS: dict[str, Reporter] = {"json": JsonReporter(), "junit": JunitReporter()}
SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


@dataclass(frozen=True, slots=True)
class Outputs:
    """The formats of one run, with a file for each json and junit report that does not go to standard output."""

    formats: tuple[str, ...]
    files: dict[str, Path]

    @classmethod
    def parse(cls, formats: Sequence[str], files: Sequence[Path]) -> "Outputs":
        """Pair ``--output`` files with the json and junit formats, in order.

        Raises:
            UsageError: A format is unknown or repeated, a file has no format, two reports would share standard
                output, or a file's folder does not exist.
        """
        for name in formats:
            if name not in FORMATS:
                raise UsageError(f"--format {name}: expected one of {', '.join(FORMATS)}")
            if formats.count(name) > 1:
                raise UsageError(f"--format {name} is given twice")
        written = [name for name in formats if name in _FILE_FORMATS]
        if len(files) > len(written):
            raise UsageError(
                f"--output {files[len(written)]}: no json or junit --format is left for it; terminal and github "
                "write to standard output"
            )
        for path in files:
            if not path.parent.is_dir():
                raise UsageError(f"--output {path}: there is no folder {path.parent}")
        paired = dict(zip(written, files, strict=False))
        if len(written) - len(paired) + ("github" in formats) > 1:
            raise UsageError(
                "several reports would go to standard output; give json and junit an --output each"
            )
        return cls(tuple(formats), paired)

    def write(self, report: RunReport) -> None:
        """Render every format to its place; the terminal report leaves standard output to a machine's."""
        machine = any(name not in self.files and name != "terminal" for name in self.formats)
        for name in self.formats:
            if name == "terminal":
                _print_terminal(report, sys.stderr if machine else sys.stdout)
            elif name == "github":
                sys.stdout.write(github.annotations(report))
                _append_summary(report)
            else:
                text = _FILE_FORMATS[name].render(report)
                if name in self.files:
                    _write(self.files[name], text)
                else:
                    sys.stdout.write(text)


def _print_terminal(report: RunReport, stream: TextIO) -> None:
    color = stream.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((100, 24)).columns
    stream.write(TerminalReporter(width, color).render(report))


def _append_summary(report: RunReport) -> None:
    path = os.environ.get(SUMMARY_VARIABLE)
    if path:
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write(github.summary(report))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--output {path}: cannot write: {error.strerror}") from error
