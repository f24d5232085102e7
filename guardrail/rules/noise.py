"""A slack must leave room for what a metric does by itself from one window to the next."""

from guardrail.records.measurement import Measurement
from guardrail.spec.anchors import fraction
from guardrail.spec.guards import Bound
from guardrail.stats.spread import between_window_spread


def slack_below_spread(bound: Bound, measurement: Measurement) -> str:
    """Say why a slack decides nothing: the windows of one measurement lie further apart.

    Args:
        bound: A bound, with or without a slack.
        measurement: Its samples are the medians of its windows.

    Returns:
        The reason with both figures; empty where there is a slack that is wide enough, none at all, or too
        little to measure a spread of.
    """
    if bound.slack is None or len(measurement.samples) < 2 or min(measurement.samples) <= 0:
        return ""
    spread = between_window_spread(measurement.samples)
    if spread <= float(fraction(bound.slack)):
        return ""
    return (
        f"the slack of {bound.slack} is smaller than the spread of {spread:.2%} between its own "
        f"{len(measurement.samples)} windows; measure more quietly, or widen it with "
        "'guardrail reanchor --slack'"
    )
