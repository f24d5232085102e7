"""What several runs measured of the metrics that are to be anchored."""

import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from guardrail.errors import UsageError
from guardrail.reanchor.order import Order
from guardrail.records.evidence import anchored_value
from guardrail.records.measurement import Measurement
from guardrail.records.provenance import Provenance
from guardrail.records.report import GuardResult
from guardrail.spec.anchors import Anchor
from guardrail.spec.guards import Bound, LoadedGuard
from guardrail.stats.spread import between_window_spread


@dataclass(frozen=True, slots=True)
class Window:
    """One guard's result in one run."""

    source: str
    """What the reader knows the run by: ``window 2``, or its file."""
    result: GuardResult
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class Series:
    """One metric for one profile over all windows."""

    loaded: LoadedGuard
    metric: str
    profile: str | None
    """Key of the anchor; None for one that holds everywhere."""
    windows: tuple[Window, ...]
    measurements: tuple[Measurement, ...]
    """One for each window."""

    @property
    def bound(self) -> Bound:
        """The bound that is derived from the anchor."""
        return self.loaded.guard.require[self.metric]

    @property
    def old(self) -> Anchor | None:
        """The anchor in force."""
        return self.bound.anchors().get(self.profile)

    @property
    def values(self) -> tuple[float | int, ...]:
        """The value of each window."""
        return tuple(item.value for item in self.measurements if item.value is not None)

    @property
    def value(self) -> float | int:
        """What the anchor will state."""
        return anchored_value(self.values)

    @property
    def spread(self) -> float:
        """How far the windows lie apart, as a fraction; 0 where the metric is not positive."""
        return between_window_spread(self.values) if min(self.values) > 0 else 0.0

    @property
    def name(self) -> str:
        """What messages call it: ``decode-7b: tokens_per_second (h200)``."""
        place = f" ({self.profile})" if self.profile else ""
        return f"{self.loaded.guard.id}: {self.metric}{place}"

    def changes_from(self, old: Sequence[float | int]) -> tuple[float, ...]:
        """Compute each window's change from the old value beside it, or from the only one."""
        bases = old if len(old) == len(self.values) else [statistics.median(old)] * len(self.values)
        return tuple(new / base - 1 for new, base in zip(self.values, bases, strict=True) if base)


def collect_series(
    loaded: LoadedGuard, windows: Sequence[Window], order: Order, devices: Collection[str]
) -> list[Series]:
    """Sort what the windows of a guard measured by metric and profile.

    Args:
        loaded: The guard.
        windows: Its result in each run.
        order: Which metric and profile are asked for.
        devices: Names of the device profiles.

    Returns:
        The series that can be anchored; a window without a measurement of one has told why in its verdicts.

    Raises:
        UsageError: Nothing that is asked for can be anchored.
    """
    found = []
    for metric in asked_metrics(loaded, order):
        bound = loaded.guard.require[metric]
        by_key: dict[str | None, list[tuple[Window, Measurement]]] = {}
        for window in windows:
            for measurement in window.result.measurements:
                if measurement.metric == metric and _is_asked_for(measurement, order):
                    key = _key(loaded, bound, measurement, order, devices)
                    by_key.setdefault(key, []).append((window, measurement))
        for key, pairs in by_key.items():
            sources = [window.source for window, _ in pairs]
            if len(set(sources)) < len(sources):
                places = sorted({", ".join(item.where.values()) for _, item in pairs})
                raise UsageError(
                    f"{loaded.guard.id}: {metric} is measured at several places ({'; '.join(places)}), which "
                    "one anchor cannot stand for; give each its own guard, or pick one with --profile"
                )
            found.append(
                Series(
                    loaded, metric, key, tuple(each for each, _ in pairs), tuple(item for _, item in pairs)
                )
            )
    return found


def asked_metrics(loaded: LoadedGuard, order: Order) -> list[str]:
    """List the metrics of a guard whose anchors are to be moved.

    Raises:
        UsageError: None of what is asked for can be anchored, whatever would be measured.
    """
    guard = loaded.guard
    if order.metric is not None and order.metric not in guard.require:
        raise UsageError(
            f"--metric {order.metric}: {guard.id} does not bound it; it bounds {', '.join(guard.require)}"
        )
    asked = [order.metric] if order.metric else list(guard.require)
    derived = [metric for metric in asked if guard.require[metric].slack is not None]
    if not derived:
        raise UsageError(
            f"{guard.id}: the bound of {', '.join(asked)} is written, not derived from an anchor; write "
            "'slack: 2%' in its place first (docs/reanchor.md)"
        )
    for metric in derived if order.profile is not None else ():
        if isinstance(guard.require[metric].anchor, Anchor):
            raise UsageError(
                f"--profile {order.profile}: the anchor of {metric} in {guard.id} holds for every profile; "
                "leave --profile out"
            )
    return derived


def _is_asked_for(measurement: Measurement, order: Order) -> bool:
    return order.profile is None or order.profile in measurement.where.values()


def _key(
    loaded: LoadedGuard, bound: Bound, measurement: Measurement, order: Order, devices: Collection[str]
) -> str | None:
    if isinstance(bound.anchor, Anchor):
        return None
    if order.profile is not None:
        return order.profile
    places = list(measurement.where.values())
    known = [name for name in places if name in (bound.anchor or {})]
    device = [name for name in places if name in devices]
    if bound.anchor and not known + device:
        raise UsageError(
            f"{loaded.guard.id}: the anchors of {measurement.metric} are keyed by "
            f"{', '.join(bound.anchor)}, and it was measured at none of these; name its place with --profile"
        )
    return next(iter(known + device), None)
