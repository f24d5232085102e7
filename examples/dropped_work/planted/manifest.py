"""The production gate and the planted one over the same cases, and the engine behind the planted one."""

from dataclasses import replace

from guardrail.families import Engine, Family
from guardrail.kernels.q6k.manifest import FAMILY as Q6K
from guardrail.kernels.reference_decode.manifest import FAMILY as REFERENCE_DECODE

_SHIPPED = next(gate for gate in Q6K.gates if gate.name == "mmvq")
_PRODUCTION = replace(
    _SHIPPED,
    name="production",
    domain="planted.gate:domain",
    model_cases="planted.gate:model_cases",
    controls=(),
)
_PLANTED = replace(_PRODUCTION, name="planted", pick="planted.gate:pick_unbounded")
_ENGINE: Engine = replace(REFERENCE_DECODE.engines[0], start="planted.engine:start", controls=())

FAMILY = Family(
    name="planted",
    title="the q6_K gate without its upper bound",
    gates=(_PRODUCTION, _PLANTED),
    engines=(_ENGINE,),
)
