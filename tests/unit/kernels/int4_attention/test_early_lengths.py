"""A programmatically launched half of the 3D arm reads the lengths of its batch alone before it waits."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from guardrail.families import Build
from guardrail.kernels.int4_attention import builds
from helpers.sass import compiled_by_triton, disassembled

BUILDS = {"attend_segments": builds.segment_builds()[0], "reduce_segments": builds.reduction_builds()[2]}


def instructions(name: str, build: Build, folder: Path) -> list[str]:
    function = f"guardrail.kernels.int4_attention.{name}:{name}"
    return disassembled(compiled_by_triton(function, build, 90, folder))[name]


@pytest.mark.parametrize("name", BUILDS)
def test_three_lengths_are_read_past_l1_before_the_wait(name: str, tmp_path: Path) -> None:
    build = BUILDS[name]
    code = instructions(name, replace(build, constants={**build.constants, "PDL": True}), tmp_path)
    wait = next(index for index, each in enumerate(code) if "ACQBULK" in each)
    loads = [each for each in code[:wait] if re.search(r"\bLDG\b", each)]
    assert len(loads) == 3
    assert all("STRONG.GPU" in each for each in loads)
    assert not any("STG" in each for each in code[:wait])


def test_what_is_not_launched_programmatically_does_not_wait(tmp_path: Path) -> None:
    code = instructions("attend_segments", BUILDS["attend_segments"], tmp_path)
    assert not any("ACQBULK" in each or "PREEXIT" in each for each in code)
