"""The decoder's gate and engine, named for guardrail."""

from dataclasses import replace

from guardrail.families import Family
from guardrail.kernels.q6k.manifest import FAMILY as Q6K
from guardrail.kernels.reference_decode.manifest import FAMILY as REFERENCE_DECODE

_SHIPPED = next(gate for gate in Q6K.gates if gate.name == "mmvq")
_GATE = replace(
    _SHIPPED,
    name="rows",
    pick="decoder.gate:pick",
    domain="decoder.gate:domain",
    model_cases="decoder.gate:model_cases",
    executed="decoder.gate:interpretable",
    controls=(),
)
_ENGINE = replace(REFERENCE_DECODE.engines[0], start="decoder.start:start", controls=())

FAMILY = Family(
    name="decoder", title="a decoder with a q6_K gate of its own", gates=(_GATE,), engines=(_ENGINE,)
)
