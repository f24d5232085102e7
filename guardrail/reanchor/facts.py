"""What is known of the tree whose anchors are to be moved."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from guardrail.records.provenance import Provenance
from guardrail.records.report import GuardResult, RunReport
from guardrail.records.verdict import Status

CORRECTNESS_PROBES = ("dispatch", "numerics", "logits")
"""Probes whose guards say that an engine computes the right thing."""

MACHINE_PROBES = ("command", "decode", "logits", "quality", "serving", "timing", "vllm_logits")
"""Probes that measure the machine they run on, so for no other's profile."""

WITNESSES = ("dispatch", "logits")
"""Those of them that can witness a fix: red before it, green after."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The tree, its correctness, and the anchors in force."""

    provenance: Provenance
    """Of the tree as it is now."""
    subject_hashes: Mapping[str, str]
    """Hash of each guard's subject as it is now."""
    correctness: tuple[GuardResult, ...]
    """Every correctness guard of the guards file, as it is now."""
    was_red: RunReport | None = None
    """A run from before a fix."""
    old_hashes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By name of the series: hashes of the subject that its old numbers were measured on."""

    def green(self) -> tuple[str, ...]:
        """Name the correctness guards that hold."""
        return tuple(result.id for result in self.correctness if result.status is Status.PASS)

    def witnesses(self) -> tuple[str, ...]:
        """Name the guards that were red before the fix, on other code, and are green now."""
        now = {result.id: result for result in self.correctness if result.status is Status.PASS}
        return tuple(
            old.id
            for old in (self.was_red.guards if self.was_red else ())
            if old.probe in WITNESSES
            and old.status is Status.FAIL
            and old.id in now
            and old.subject_hash != now[old.id].subject_hash
        )
