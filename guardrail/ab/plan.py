"""Everything about a comparison that is fixed before its first run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from guardrail.ab.arm import Arm, LoadedFile, identity
from guardrail.ab.criterion import Criterion, require_exclusive
from guardrail.adapters.private_caches import CACHE_VARIABLES
from guardrail.errors import UsageError
from guardrail.records.cache import Cache
from guardrail.results.readers import READERS, require_selector
from guardrail.spec.suggest import did_you_mean
from guardrail.stats.intervals import samples_needed
from guardrail.stats.sequential import Looks, plan_looks

_STEP = 2
"""Looks come after an even number of pairs, half of which ran in each order."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A comparison of two arms."""

    a: Arm
    b: Arm
    metric: str
    """Selector of the compared metric, in the reader's own terms."""
    reader: str = "json"
    controls: tuple[str, ...] = ()
    """Selectors of metrics that must not move."""
    accept: tuple[Criterion, ...] = ()
    veto: tuple[Criterion, ...] = ()
    self_compare: bool = False
    """Compare an arm with itself: the interval of the ratio should hold 1."""
    pairs: int = 40
    """Pairs at most."""
    budget: float = 3600.0
    """Seconds after which no further pair begins."""
    confidence: float = 0.95
    """Confidence that the intervals of all looks together keep."""
    timeout: float = 600.0
    """Seconds after which a run is killed."""
    warmup: int = 1
    """Runs of each arm that do not count."""
    cache: Cache = Cache.SHARED
    shared: Mapping[str, str] = field(default_factory=dict)
    """The environment that both arms share."""

    @property
    def looks(self) -> Looks:
        """When the pairs are judged: an arm with itself once, at the end."""
        planned = plan_looks(self.confidence, self.pairs, _STEP)
        if self.self_compare and planned.sizes:
            return Looks(planned.sizes[-1:], self.confidence)
        return planned


def require_sound(plan: Plan) -> None:
    """Refuse a plan that could not decide anything.

    Raises:
        UsageError: It could not; says what would.
    """
    if plan.reader not in READERS:
        raise UsageError(
            f"--reader {plan.reader}: there is no such reader{did_you_mean(plan.reader, READERS)}"
        )
    for option, selector in [("--metric", plan.metric), *(("--control", each) for each in plan.controls)]:
        try:
            require_selector(plan.reader, selector)
        except ValueError as error:
            raise UsageError(f"{option} {selector}: {error}") from None
    if plan.self_compare and (plan.accept or plan.veto):
        raise UsageError(
            "--self-compare asks whether the ratio is 1, so it takes neither --accept nor --veto"
        )
    if not plan.self_compare:
        if not plan.accept or not plan.veto:
            raise UsageError(
                "give --accept and --veto: a criterion that is chosen afterwards decides nothing"
            )
        require_exclusive(plan.accept, plan.veto)
    if not plan.looks.sizes:
        needed = samples_needed(plan.confidence)
        needed += needed % _STEP
        raise UsageError(
            f"--pairs {plan.pairs}: too few for an interval at --confidence {plan.confidence:g}; "
            f"give {needed} or more"
        )
    private = [name for name in CACHE_VARIABLES if {name} & {*plan.a.environment, *plan.b.environment}]
    if plan.cache is not Cache.SHARED and private:
        raise UsageError(f"--cache {plan.cache} sets {private[0]} itself; leave it out of the arms")


def require_distinct(plan: Plan, loaded_a: tuple[LoadedFile, ...], loaded_b: tuple[LoadedFile, ...]) -> None:
    """Refuse arms that are the same, or that are not where an arm is compared with itself.

    Raises:
        UsageError: They are.
    """
    same = identity(plan.a, loaded_a, plan.shared) == identity(plan.b, loaded_b, plan.shared)
    if same and not plan.self_compare:
        raise UsageError(
            "the arms are one and the same: equal programs, files, arguments and environment; "
            "--self-compare measures that"
        )
    if plan.self_compare and not same:
        raise UsageError(
            "--self-compare compares an arm with itself, and these differ; leave --b and --b-env out"
        )
