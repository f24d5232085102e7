"""What every source of a dump gives."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardrail.adapters.device import Gpu
from guardrail.adapters.surroundings import knobs, provenance
from guardrail.logits.dump import Identity

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Dumped:
    """The logits of one step with whose they are."""

    logits: "NDArray[Any]"
    """fp32 [sequences, vocabulary]."""
    identity: Identity
    tensors: "Mapping[str, NDArray[Any]]" = field(default_factory=dict)


def surroundings(gpu: Gpu | None) -> dict[str, Any]:
    """Describe a run that begins now, as plain data."""
    return asdict(provenance(Path.cwd(), gpu, knobs(())))


def file_hash(*paths: Path) -> str:
    """Hash the contents of files, in their order, as ``sha256:`` and hexadecimal digits."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return f"sha256:{digest.hexdigest()}"
