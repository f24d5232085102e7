import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from guardrail import __version__

GOLDEN = Path(__file__).parents[1] / "data" / "functional"
HUGE = 2 << 20


@dataclass(frozen=True)
class Case:
    """A guards file, a command line and its exit code; the whole output lies in a file of the case's name."""

    name: str
    guards: str
    code: int
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


CASES = (
    Case("pass", "tiny.yaml", 0),
    Case("pass-bundled", "bundled.yaml", 0),
    Case("pass-only", "tiny.yaml", 0, ("--only", "tiny-n*", "--only", "tiny-scratch")),
    Case("fail", "tiny.yaml", 1, environment={"TINY_REACH": "12"}),
    Case("error-does-not-compile", "uncompilable.yaml", 3),
    Case("fail-before-error", "uncompilable.yaml", 1, environment={"TINY_REACH": "12"}),
    Case("error-metric-not-measured", "unmeasured.yaml", 3),
    Case("nothing-no-guards", "none.yaml", 5),
    Case("nothing-all-skipped", "elsewhere.yaml", 5, ("--profile", "h200")),
    Case("undecided", "noisy.yaml", 4, ("--only", "noisy", "--only", "quiet")),
    Case("error-before-undecided", "noisy.yaml", 3, ("--only", "noisy", "--only", "unbounded")),
    Case("fail-before-all", "noisy.yaml", 1),
    Case("absent-profile", "tiny.yaml", 3, ("--require-profile", "h200")),
    Case("fail-before-absent-profile", "noisy.yaml", 1, ("--only", "slow", "--require-profile", "h200")),
    Case("usage-absent-and-unknown-profile", "tiny.yaml", 2, ("--require-profile", "h2000")),
    Case("usage-unknown-profile", "tiny.yaml", 2, ("--profile", "h2000")),
    Case("usage-only-without-match", "tiny.yaml", 2, ("--only", "gate")),
    Case("usage-before-fail", "tiny.yaml", 2, ("--format", "yaml"), {"TINY_REACH": "12"}),
    Case("usage-output-without-format", "tiny.yaml", 2, ("--output", "report.json")),
    Case("usage-output-into-no-folder", "tiny.yaml", 2, ("--format", "json", "--output", "gone/report.json")),
    Case(
        "usage-from-measures-nothing", "tiny.yaml", 2, ("--from", "run.json", "--fresh", "--profile", "h200")
    ),
    Case("guards-missing", "gone.yaml", 2),
    Case("guards-folder", "tiny", 2),
    Case("guards-empty", "broken/empty.yaml", 2),
    Case("guards-binary", "broken/binary.yaml", 2),
    Case("guards-huge", "huge.yaml", 2),
    Case("guards-cyclic", "broken/cyclic.yaml", 2),
    Case("guards-other-version", "broken/version.yaml", 2),
    Case("guards-misspelt", "broken/misspelt.yaml", 2),
    Case("guards-module-that-exits", "broken/module.yaml", 2),
    Case("self-test-without-a-control", "tiny.yaml", 1, ("--self-test",)),
    Case("self-test", "tiny.yaml", 0, ("--self-test", "--only", "tiny-scratch-alone")),
)


def normalised(text: str, folder: Path) -> str:
    """Replace what differs from run to run and from one toolchain to the next."""
    text = text.replace(str(folder), "<folder>").replace(
        f"guardrail {__version__} ·", "guardrail <version> ·"
    )
    text = re.sub(r"(does not compile for sm_90:).*?(?=\n    where)", r"\1 <message>", text, flags=re.DOTALL)
    text = re.sub(r" +(\d+\.\d s|cached)$", "  <effort>", text, flags=re.MULTILINE)
    text = re.sub(r"· (\d+\.\d s|cached)$", "· <effort>", text, flags=re.MULTILINE)
    return re.sub(r"\(\d+\.\d s(, \d+ cached)?\)", "(<effort>)", text)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_command_ends_with_its_code_and_its_output(case, guardrail, folder):
    (folder / "huge.yaml").write_bytes(b"# \n" * (HUGE // 3))
    found = guardrail("check", "--guards", case.guards, *case.arguments, **case.environment)
    golden = (GOLDEN / f"{case.name}.txt").read_text(encoding="utf-8")
    printed = f"{normalised(found.stdout, folder)}--- errors\n{normalised(found.stderr, folder)}"
    assert (found.returncode, printed) == (case.code, golden)


def test_every_kept_output_belongs_to_a_case():
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(case.name for case in CASES)


def test_no_kept_output_shows_a_traceback():
    assert [path.name for path in GOLDEN.iterdir() if "Traceback" in path.read_text(encoding="utf-8")] == []
