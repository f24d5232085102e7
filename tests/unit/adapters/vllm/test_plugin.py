import pkgutil
import tomllib
from pathlib import Path

import pytest

from guardrail.adapters.vllm.plugin import SWITCH, obstacle_to, register

_CHECKOUT = Path(__file__).parents[4]


@pytest.mark.parametrize("version", ["0.26.0", "0.27.1", "0.33.0", "0.33.0+cu130"])
def test_supported_releases_have_no_obstacle(version: str) -> None:
    assert obstacle_to(version, cuda=True, environment={}) is None


@pytest.mark.parametrize("version", ["0.25.1", "0.33.1", "0.34.0", "1.0.0", "dev"])
def test_other_releases_are_left_to_stock_by_name(version: str) -> None:
    obstacle = obstacle_to(version, cuda=True, environment={})
    assert obstacle == (
        f"it was tested on vLLM 0.26.0 to 0.33.0, and this is {version}; a later guardrail may know it"
    )


def test_the_switch_keeps_it_out() -> None:
    assert obstacle_to("0.33.0", cuda=True, environment={SWITCH: "0"}) == "GUARDRAIL_VLLM is off"


def test_a_misspelt_switch_is_refused() -> None:
    with pytest.raises(ValueError, match="GUARDRAIL_VLLM is 'offf'; set it to one of"):
        obstacle_to("0.33.0", cuda=True, environment={SWITCH: "offf"})


def test_other_devices_are_left_to_stock() -> None:
    assert obstacle_to("0.33.0", cuda=False, environment={}) == "the kernels are for NVIDIA GPUs"


def test_the_package_names_it_to_vllm() -> None:
    project = tomllib.loads((_CHECKOUT / "pyproject.toml").read_text())["project"]
    (place,) = project["entry-points"]["vllm.general_plugins"].values()
    assert pkgutil.resolve_name(place) is register
