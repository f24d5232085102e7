"""A record of calls that policy admitted and the scratch could not hold."""

import logging
from dataclasses import dataclass, field

from guardrail.kernels.int4_attention.dispatch import Call, is_breach

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class BreachState:
    """Counts breaches; stays degraded after the first and keeps that one as the specimen."""

    count: int = 0
    degraded: bool = False
    first: Call | None = field(default=None)

    def observe(self, call: Call) -> None:
        """Take note of a call, and log an error for the first breach only."""
        if not is_breach(call):
            return
        self.count += 1
        self.degraded = True
        if self.first is None:
            self.first = call
            _LOG.error(
                "int4 attention is degraded: a batch that policy admits does not fit the split-KV scratch "
                "and takes the 2D arm. Plan the scratch in query tokens. First specimen: %s",
                call,
            )
