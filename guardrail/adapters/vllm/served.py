"""What the int4 layers of one engine share in this process."""

import logging
import os
from dataclasses import dataclass
from typing import Any

from guardrail.adapters.vllm import compat, logs
from guardrail.adapters.vllm.census_file import CENSUS, CensusFile, path_of
from guardrail.kernels.int4_attention.breaches import BreachState
from guardrail.kernels.int4_attention.census import Census
from guardrail.kernels.int4_attention.scratch_tensors import POOL

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Served:
    """The census of one engine, and its file."""

    engine: str
    census: Census
    file: CensusFile


_served: Served | None = None


def served_by(config: Any) -> Served:
    """Find what an engine's layers share; the first of them makes it, in place of an earlier engine's.

    Args:
        config: VllmConfig; a draft model's carries the name of the engine that serves it.
    """
    global _served
    if _served is None or _served.engine != config.instance_id:
        if _served is not None:
            _served.file.close()
        logs.show_in_vllm()
        POOL.reset()
        census = Census(BreachState())
        _, parallel = compat.target_of(config)
        path = path_of(os.environ.get(CENSUS), parallel)
        _served = Served(config.instance_id, census, CensusFile(census, path))
        _LOG.info("int4 attention: guardrail's kernels serve this engine; census file: %s", path)
    return _served
