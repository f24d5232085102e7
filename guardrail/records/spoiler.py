"""Something that makes figures measured now worth less."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spoiler:
    """One fault of the surroundings of a measurement, and how to be rid of it."""

    what: str
    """A full sentence, with figures."""
    remedy: str
    """A full sentence."""
