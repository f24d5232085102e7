"""Print how many tokens the decoder gives for a megabyte that its kernels read."""

import json
import sys
from pathlib import Path

from decoder.gate import ONE_LAYER_TILE
from decoder.reads import counted_reads
from decoder.start import start
from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.families import DecodeOptions, Mode
from guardrail.spec.profile_files import load_profiles

MODEL = "one-layer"
PROMPT = (3,)


def main() -> None:
    """Run one prompt through the decode step, in Triton's interpreter."""
    model = load_profiles(Path("guards.yaml"), frozenset(ARCHITECTURES)).models[MODEL]
    options = DecodeOptions(context=len(PROMPT) + 1, matvec_threshold=0, block_units=ONE_LAYER_TILE)
    engine = start(model, options, "cpu")
    with counted_reads() as read:
        engine.first_step_logits([PROMPT], Mode.EAGER)
    pace = len(PROMPT) / read.bytes * 1e6
    json.dump({"model": MODEL, "tokens": len(PROMPT), "tokens_per_megabyte": pace}, sys.stdout)


if __name__ == "__main__":
    main()
