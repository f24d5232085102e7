"""A dump: the logits of one step, what else the engine offered, and whose they are."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from guardrail.errors import MeasurementError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOGITS = "logits"
"""Name of the logits among a dump's tensors."""

FORMAT = "guardrail-logits-1"
"""Stands in the metadata of a dump that guardrail wrote."""

Prompts = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """What computed a dump, and from what."""

    engine: str
    """The engine and its options, as they were asked for."""
    build: str
    """``sha256:`` of the sources or the program that computed it."""
    prompts: Prompts | None = None
    """Every token before each row of logits, generated ones included; None where they are not known."""
    step: int = 0
    """Tokens that were generated before the step; 0 is the step that ends the prompt."""
    mode: str | None = None
    """``eager`` or ``captured``; None where it is not known."""
    arms: tuple[str, ...] = ()
    """Which arm served which tensors, one sentence each."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `guardrail.records.provenance.Provenance`."""


@dataclass(frozen=True, slots=True)
class Dump:
    """What was read of one file."""

    source: str
    """The file."""
    logits: "NDArray[Any]"
    """fp32 [sequences, vocabulary]."""
    tensors: "Mapping[str, NDArray[Any]]" = field(default_factory=dict)
    """Further tensors by name."""
    identity: Identity | None = None
    """None where the file states none."""

    @property
    def prompts(self) -> Prompts | None:
        """Give the tokens before the logits, where they are known."""
        return self.identity.prompts if self.identity else None

    @property
    def step(self) -> int:
        """Give the step, which is the first where a file states none."""
        return self.identity.step if self.identity else 0


def to_metadata(identity: Identity) -> dict[str, str]:
    """Write an identity as metadata of a safetensors file: text by name, JSON where it is no plain text."""
    stated = {
        "format": FORMAT,
        "engine": identity.engine,
        "build": identity.build,
        "step": str(identity.step),
        "arms": json.dumps(identity.arms),
        "provenance": json.dumps(identity.provenance),
    }
    if identity.prompts is not None:
        stated["prompts"] = json.dumps(identity.prompts)
    if identity.mode is not None:
        stated["mode"] = identity.mode
    return stated


def from_metadata(metadata: Mapping[str, str], source: str) -> Identity | None:
    """Read an identity back; None where the metadata is not guardrail's.

    Args:
        metadata: What the file states.
        source: The file, for the message.

    Raises:
        MeasurementError: It claims to be a dump, and cannot be read as one.
    """
    stated = metadata.get("format", "")
    if not stated.startswith("guardrail-logits-"):
        return None
    if stated != FORMAT:
        raise MeasurementError(f"{source}: format {stated}, and this guardrail reads {FORMAT}; dump it again")
    try:
        prompts = json.loads(metadata["prompts"]) if "prompts" in metadata else None
        return Identity(
            engine=metadata["engine"],
            build=metadata["build"],
            prompts=None if prompts is None else tuple(tuple(map(int, prompt)) for prompt in prompts),
            step=int(metadata["step"]),
            mode=metadata.get("mode"),
            arms=tuple(json.loads(metadata["arms"])),
            provenance=json.loads(metadata["provenance"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise MeasurementError(f"{source}: its metadata is not what a dump has: {error!r}") from error
