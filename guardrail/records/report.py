"""One run, as it is shown, saved and judged again."""

from dataclasses import dataclass

from guardrail.errors import ExitCode
from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.provenance import Provenance
from guardrail.records.verdict import Status, Verdict, worst

SCHEMA_VERSION = "1.0"
"""Version of the saved report; another major version is refused."""


@dataclass(frozen=True, slots=True)
class GuardResult:
    """One guard with everything that was measured and decided for it."""

    id: str
    title: str
    probe: str
    subject: str
    line: int
    """Line of the guard in the guards file."""
    verdicts: tuple[Verdict, ...]
    measurements: tuple[Measurement, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
    warnings: tuple[str, ...] = ()
    subject_hash: str | None = None
    """SHA-256 over the sources that the subject's measurements depend on; None where there are none."""
    seconds: float = 0.0
    """Time in which any of its tasks ran; 0 where everything came from the cache."""
    cached: bool = False
    """True where every measurement came from the cache."""

    @property
    def status(self) -> Status:
        """The worst of the verdicts."""
        return worst([verdict.status for verdict in self.verdicts])


@dataclass(frozen=True, slots=True)
class RunReport:
    """Every guard of one run."""

    guards_file: str
    guards: tuple[GuardResult, ...]
    provenance: Provenance
    version: str
    """Version of guardrail that measured."""
    seconds: float = 0.0
    schema_version: str = SCHEMA_VERSION
    judged_from: str | None = None
    """The saved report that was judged again; None for a run that measured."""
    absent_profiles: tuple[str, ...] = ()
    """Profiles that were required but are not those of this machine."""
    warnings: tuple[str, ...] = ()
    """What of the environment spoils, or may spoil, what was measured."""

    def count(self, status: Status) -> int:
        """Count the guards that ended with a status."""
        return sum(guard.status is status for guard in self.guards)

    @property
    def exit_code(self) -> ExitCode:
        """The code that the worst verdict asks for."""
        if self.count(Status.FAIL):
            return ExitCode.FAILED
        if self.count(Status.ERROR) or self.absent_profiles:
            return ExitCode.NOT_MEASURED
        if self.count(Status.UNDECIDED):
            return ExitCode.UNDECIDED
        if self.count(Status.PASS):
            return ExitCode.OK
        return ExitCode.NOTHING_CHECKED
