"""Where the reports of one run go."""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from guardrail.cli.files import write_whole
from guardrail.cli.options import FORMATS
from guardrail.cli.streams import reader_may_leave
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
    """The formats of one run, with a file for each json and junit report not for standard output."""

    formats: tuple[str, ...]
    files: dict[str, Path]

    @classmethod
    def parse(cls, formats: Sequence[str], files: Sequence[Path]) -> "Outputs":
        """Pair ``--output`` files with the json and junit formats, in order.

        Raises:
            UsageError: A format is unknown or repeated, a file has no format, two reports would share
                standard output, or a file cannot be one.
        """
        for name in formats:
            if name not in FORMATS:
                raise UsageError(f"--format {name}: expected one of {', '.join(FORMATS)}")
            if formats.count(name) > 1:
                raise UsageError(f"--format {name} is given twice")
        written = [name for name in formats if name in _FILE_FORMATS]
        if len(files) > len(written):
            raise UsageError(
                f"--output {files[len(written)]}: no json or junit --format is left for it; "
                "terminal and github write to standard output"
            )
        for path in files:
            if not path.parent.is_dir():
                raise UsageError(f"--output {path}: there is no folder {path.parent}")
            if path.is_dir():
                raise UsageError(f"--output {path}: this is a folder, not a file")
            if files.count(path) > 1:
                raise UsageError(f"--output {path} is given twice")
        paired = dict(zip(written, files, strict=False))
        if len(written) - len(paired) + ("github" in formats) > 1:
            raise UsageError(
                "several reports would go to standard output; give json and junit an --output each"
            )
        return cls(tuple(formats), paired)

    def write(self, report: RunReport) -> None:
        """Render every format to its place; the terminal report leaves standard output to a machine's.

        Raises:
            UsageError: Files or standard output cannot be written; what can be written has been.
        """
        refusals = []
        for name in self.formats:
            try:
                self._write_one(name, report)
            except UsageError as error:
                refusals.append(str(error))
        if refusals:
            raise UsageError("\n".join(refusals))

    def _write_one(self, name: str, report: RunReport) -> None:
        if name == "terminal":
            machine = any(other not in self.files and other != "terminal" for other in self.formats)
            _print_terminal(report, sys.stderr if machine else sys.stdout)
        elif name == "github":
            _print(github.annotations(report), sys.stdout)
            _append_summary(report)
        elif name in self.files:
            write_whole(self.files[name], _FILE_FORMATS[name].render(report), "--output")
        else:
            _print(_FILE_FORMATS[name].render(report), sys.stdout)


def _print_terminal(report: RunReport, stream: TextIO) -> None:
    color = stream.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((100, 24)).columns
    _print(TerminalReporter(width, color).render(report), stream)


def _print(text: str, stream: TextIO) -> None:
    with reader_may_leave(stream):
        stream.write(text)
        stream.flush()


def _append_summary(report: RunReport) -> None:
    path = os.environ.get(SUMMARY_VARIABLE)
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write(github.summary(report))
    except OSError as error:
        raise UsageError(f"{SUMMARY_VARIABLE} {path}: cannot write: {error.strerror}") from error
