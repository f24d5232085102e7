"""What an engine may be started with."""

import pytest
from pydantic import ValidationError

from guardrail.probes.engine_settings import EngineSettings


@pytest.mark.parametrize("units", [1, 2, 32, 4096])
def test_a_tile_of_a_power_of_two_is_taken(units: int) -> None:
    assert EngineSettings(block_units=units).start_options()["block_units"] == units


@pytest.mark.parametrize("units", [3, 7, 48])
def test_another_tile_is_refused(units: int) -> None:
    with pytest.raises(ValidationError, match=f"must be a power of two, and {units} is none"):
        EngineSettings(block_units=units)
