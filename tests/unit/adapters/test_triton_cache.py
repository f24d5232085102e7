import json
import shutil
from pathlib import Path

import pytest

from guardrail.adapters.triton_cache import read_triton_cache
from guardrail.errors import MeasurementError, NothingReadError

CACHE = Path(__file__).parents[2] / "data" / "resources" / "triton_cache"


@pytest.fixture
def cache(tmp_path):
    return Path(shutil.copytree(CACHE, tmp_path / "cache"))


def test_every_cubin_gets_its_launch_size_from_the_metadata_beside_it():
    kernels = sorted(read_triton_cache(CACHE), key=lambda kernel: kernel.name)
    assert [(k.name, k.arch, k.threads, k.dynamic_shared_bytes, k.registers) for k in kernels] == [
        ("scale", "sm_90", 128, 0, 22),
        ("total", "sm_90", 256, 32, 27),
    ]
    assert [(k.blocks_per_sm, k.limited_by) for k in kernels] == [(16, "warps"), (8, "registers, warps")]
    assert {kernel.toolchain for kernel in kernels} == {"triton 3.7.1"}


def test_spills_of_a_cached_kernel_are_not_known():
    assert {kernel.spill_bytes for kernel in read_triton_cache(CACHE)} == {None}


def test_the_metadata_decides_the_launch_size(cache):
    (path,) = cache.rglob("total.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"num_warps": 4, "shared": 100_000}))
    (total,) = (kernel for kernel in read_triton_cache(cache) if kernel.name == "total")
    assert (total.threads, total.shared_bytes, total.blocks_per_sm) == (128, 100_000, 2)


def test_an_empty_folder_checks_nothing(tmp_path):
    with pytest.raises(NothingReadError, match=r"holds no \*.cubin"):
        read_triton_cache(tmp_path)


def test_missing_metadata_is_named(cache):
    (path,) = cache.rglob("total.json")
    path.unlink()
    with pytest.raises(MeasurementError, match=r"total\.cubin: there is no total\.json beside it"):
        read_triton_cache(cache)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"num_warps": 4}', '{"num_warps": "x", "shared": 0, "target": {}}']
)
def test_damaged_metadata_is_named(cache, text):
    (path,) = cache.rglob("total.json")
    path.write_text(text)
    with pytest.raises(MeasurementError, match=r"total\.json: not the metadata of a Triton kernel"):
        read_triton_cache(cache)
