"""Everything about a comparison of two commands that is fixed before its first run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from guardrail.ab.arm import Arm, LoadedFile, identity, shown
from guardrail.ab.terms import Terms, require_decisive
from guardrail.adapters.private_caches import CACHE_VARIABLES
from guardrail.errors import UsageError
from guardrail.records.cache import Cache
from guardrail.results.readers import READERS, require_selector
from guardrail.spec.suggest import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Terms):
    """A comparison of two commands; metrics and controls are named in the reader's own terms."""

    a: Arm
    b: Arm
    reader: str = "json"
    timeout: float = 600.0
    """Seconds after which a run is killed."""
    warmup: int = 1
    """Runs of each arm that do not count."""
    cache: Cache = Cache.SHARED
    shared: Mapping[str, str] = field(default_factory=dict)
    """The environment that both arms share."""

    def shown_arms(self) -> dict[str, str]:
        """See `Terms.shown_arms`."""
        return {arm.side: shown(arm) for arm in (self.a, self.b)}

    def shown_metric(self) -> str:
        """See `Terms.shown_metric`."""
        return f"{self.metric} ({self.reader})"

    def conditions(self) -> Mapping[str, str]:
        """See `Terms.conditions`."""
        return {"cache": self.cache}


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
    require_decisive(plan)
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
