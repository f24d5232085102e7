"""Arbitrary runs, for properties that hold of every one."""

from hypothesis import strategies as st

from guardrail.records.measurement import Finding, Measurement, Unmeasured
from guardrail.records.provenance import Provenance
from guardrail.records.report import GuardResult, RunReport
from guardrail.records.verdict import Status, Verdict

_text = st.text(max_size=40)
_name = st.text("abc_-.µ速", min_size=1, max_size=20)
_float = st.floats(allow_nan=False, allow_infinity=False)
_number = st.none() | st.integers() | _float
_where = st.dictionaries(_name, _text, max_size=2)
_line = st.integers(1, 10_000)
_seconds = st.floats(0, 1e6)


def _some(items: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(items, max_size=12).map(tuple)


_verdicts = st.builds(
    Verdict,
    status=st.sampled_from(Status),
    code=_name,
    sentence=_text,
    metric=_text,
    unit=_text,
    where=_where,
    measured=_number,
    bound=_text,
    excess=_number,
    evidence=_some(_text),
    line=st.none() | _line,
)
_measurements = st.builds(
    Measurement,
    metric=_name,
    unit=_text,
    value=_number,
    where=_where,
    samples=st.lists(_float, max_size=4).map(tuple),
    interval=st.none() | st.tuples(_float, _float),
    inspected=st.integers(0),
    findings=st.lists(st.builds(Finding, _text, _some(_name)), max_size=2).map(tuple),
    changed=_text,
)
_guards = st.builds(
    GuardResult,
    id=_name,
    title=_text,
    probe=_name,
    subject=_text,
    line=_line,
    verdicts=st.lists(_verdicts, max_size=3).map(tuple),
    measurements=st.lists(_measurements, max_size=2).map(tuple),
    unmeasured=st.lists(st.builds(Unmeasured, _text, _where, st.booleans()), max_size=2).map(tuple),
    warnings=_some(_text),
    subject_hash=st.none() | _text,
    seconds=_seconds,
    cached=st.booleans(),
)
_provenances = st.builds(
    Provenance,
    time=st.just("2026-11-03T09:30:00+01:00"),
    command=_text,
    host=_text,
    python=_text,
    versions=_where,
    commit=st.none() | _text,
    dirty=st.none() | st.booleans(),
    knobs=_where,
    device=st.none() | _text,
)

RUNS: st.SearchStrategy[RunReport] = st.builds(
    RunReport,
    guards_file=_text,
    guards=st.lists(_guards, max_size=3).map(tuple),
    provenance=_provenances,
    version=_text,
    seconds=_seconds,
    judged_from=st.none() | _text,
    absent_profiles=_some(_name),
    warnings=_some(_text),
)
"""Runs of up to three guards, with finite numbers and any text that is valid Unicode."""
