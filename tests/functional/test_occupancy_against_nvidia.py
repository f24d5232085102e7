"""Blocks per SM against NVIDIA's own calculator, the header ``cuda_occupancy.h``, for random kernels."""

import importlib.util
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from guardrail.compiled.architectures import ARCHITECTURES, compute_capability
from guardrail.compiled.occupancy import occupancy

HEADER = "cuda_occupancy.h"
KERNELS = 1000
UNKNOWN_DEVICE = 2  # CUDA_OCC_ERROR_UNKNOWN_DEVICE

PROGRAM = """
#include <stdio.h>
#include "cuda_occupancy.h"

int main(void) {
    cudaOccDeviceProp device = {0};
    cudaOccFuncAttributes kernel = {0};
    cudaOccDeviceState state = {0};
    cudaOccResult result;
    int threads, registers;
    size_t fixed, dynamic;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
    device.warpSize = 32;
    device.numSms = 1;
    device.sharedMemPerBlock = 48 * 1024;
    kernel.maxThreadsPerBlock = 1024;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.numBlockBarriers = 1;
    if (scanf("%d %d %d %d %d %d %zu %zu %zu", &device.computeMajor, &device.computeMinor,
              &device.maxThreadsPerBlock, &device.maxThreadsPerMultiprocessor, &device.regsPerBlock,
              &device.regsPerMultiprocessor, &device.sharedMemPerMultiprocessor,
              &device.sharedMemPerBlockOptin, &device.reservedSharedMemPerBlock) != 9) return 1;
    while (scanf("%d %d %zu %zu", &threads, &registers, &fixed, &dynamic) == 4) {
        kernel.numRegs = registers;
        kernel.sharedSizeBytes = fixed;
        kernel.maxDynamicSharedSizeBytes = dynamic;
        cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
            &result, &device, &kernel, &state, threads, dynamic);
        if (error) return error;
        printf("%d\\n", result.activeBlocksPerMultiprocessor);
    }
    return 0;
}
"""


def _header_folder():
    spec = importlib.util.find_spec("triton")
    folders = (
        [Path(folder, "backends/nvidia/include") for folder in spec.submodule_search_locations]
        if spec
        else []
    )
    if nvcc := shutil.which("nvcc"):
        folders.append(Path(nvcc).resolve().parents[1] / "include")
    return next((folder for folder in folders if (folder / HEADER).is_file()), None)


@pytest.fixture(scope="module")
def calculator(tmp_path_factory):
    folder, compiler = _header_folder(), shutil.which("cc") or shutil.which("gcc")
    if folder is None or compiler is None:
        pytest.skip(f"needs a C compiler and {HEADER} of Triton or the CUDA toolkit")
    program = tmp_path_factory.mktemp("occupancy") / "calculator"
    subprocess.run(
        [compiler, "-x", "c", "-", "-I", folder, "-o", program], input=PROGRAM, text=True, check=True
    )
    return program


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_random_kernels_get_nvidias_blocks_per_sm(calculator, arch):
    limits = ARCHITECTURES[arch]
    rng = random.Random(arch)
    kernels = [
        (
            rng.randint(1, 1024),
            rng.randint(1, 255),
            rng.choice((0, rng.randint(0, 48 * 1024))),
            rng.choice((0, rng.randint(0, limits.shared_per_block + 2048))),
        )
        for _ in range(KERNELS)
    ]
    major, minor = divmod(compute_capability(arch), 10)
    device = (
        major,
        minor,
        limits.threads_per_block,
        limits.warps_per_sm * 32,
        limits.registers_per_block,
        limits.registers_per_sm,
        limits.shared_per_sm,
        limits.shared_per_block,
        limits.reserved_shared_per_block,
    )
    lines = [" ".join(map(str, row)) for row in (device, *kernels)]
    done = subprocess.run([calculator], input="\n".join(lines), capture_output=True, text=True)
    if done.returncode == UNKNOWN_DEVICE:
        pytest.skip(f"this {HEADER} is older than {arch}")
    assert done.returncode == 0
    expected = [int(line) for line in done.stdout.split()]
    found = [
        occupancy(limits, threads=threads, registers=registers, shared_bytes=fixed + dynamic).blocks_per_sm
        for threads, registers, fixed, dynamic in kernels
    ]
    assert len(expected) == KERNELS
    assert found == expected
    assert len(set(found)) > 8
