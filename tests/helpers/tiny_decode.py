"""The tiny decode model and how its engine is started in the interpreter."""

from functools import cache
from pathlib import Path

from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.families import DecodeOptions, ModelProfile
from guardrail.spec.profile_files import load_profiles

ROOT = Path(__file__).parents[2]

OPTIONS = DecodeOptions(context=32, block_units=32, matvec_threshold=0, memory_bytes=8_000_000)


@cache
def model(name: str = "tiny-decode") -> ModelProfile:
    """Load a bundled model profile."""
    return load_profiles(ROOT / "guards.yaml", frozenset(ARCHITECTURES)).models[name]
