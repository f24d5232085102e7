"""Blocks per SM and static shared memory against the driver's own answers, through libcuda."""

import ctypes
import random
from pathlib import Path

import pytest

from guardrail.adapters.cuobjdump import read_binary
from guardrail.compiled.architectures import find_limits
from guardrail.compiled.occupancy import occupancy

pytestmark = pytest.mark.gpu

DATA = Path(__file__).parents[1] / "data" / "resources"
SHARED_SIZE_BYTES = 1  # CUfunction_attribute
NUM_REGS = 4
MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
LIVE_VALUES = (1, 12, 30, 56, 90, 120, 170, 230)
LAUNCHES = 200

PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry kernel(.param .u64 buffer) {{
    .shared .align 4 .b8 fixed[{fixed}];
    .reg .u64 %address;
    .reg .u32 %value<{live}>;
    .reg .u32 %corner;
    ld.param.u64 %address, [buffer];
    mov.u32 %corner, fixed;
    {loads}
    bar.sync 0;
    {stores}
    st.shared.u32 [%corner], %value0;
    ret;
}}
"""


class Driver:
    """The few driver calls that the tests need."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxSetCurrent", context)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
        self("cuDeviceGetAttribute", ctypes.byref(minor), 76, device)
        self.arch = f"sm_{major.value}{minor.value}"

    def __call__(self, function, *arguments):
        code = getattr(self.library, function)(*arguments)
        assert code == 0, f"{function}: CUDA error {code}"

    def load(self, image, name):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(module), image)
        self("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def attribute(self, function, attribute):
        value = ctypes.c_int()
        self("cuFuncGetAttribute", ctypes.byref(value), attribute, function)
        return value.value

    def blocks_per_sm(self, function, threads, dynamic):
        self("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic)
        blocks = ctypes.c_int()
        size = ctypes.c_size_t(dynamic)
        self("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(blocks), function, threads, size)
        return blocks.value


@pytest.fixture(scope="module")
def driver():
    return Driver()


def _kernel(driver, live, fixed):
    """Load a kernel that holds `live` values in registers and declares `fixed` bytes of shared memory."""
    loads = "\n    ".join(f"ld.volatile.global.u32 %value{i}, [%address+{4 * i}];" for i in range(live))
    stores = "\n    ".join(f"st.volatile.global.u32 [%address+{4 * i}], %value{i};" for i in range(live))
    text = PTX.format(live=live, fixed=fixed, loads=loads, stores=stores)
    return driver.load(text.encode() + b"\0", "kernel")


def test_random_launches_get_the_drivers_blocks_per_sm(driver):
    limits = find_limits(driver.arch)
    assert limits is not None, f"{driver.arch} is not in the table"
    rng = random.Random(0)
    seen, registers_seen = set(), set()
    for live in LIVE_VALUES:
        fixed = rng.choice((4, 1000, 20_000))
        function = _kernel(driver, live, fixed)
        registers = driver.attribute(function, NUM_REGS)
        assert driver.attribute(function, SHARED_SIZE_BYTES) == fixed
        registers_seen.add(registers)
        for _ in range(LAUNCHES):
            threads = rng.randint(1, 1024)
            dynamic = rng.choice((0, rng.randint(0, limits.shared_per_block - fixed)))
            found = occupancy(limits, threads=threads, registers=registers, shared_bytes=fixed + dynamic)
            expected = driver.blocks_per_sm(function, threads, dynamic)
            assert found.blocks_per_sm == expected, (threads, registers, fixed, dynamic)
            seen.add(expected)
    assert len(registers_seen) >= 6
    assert len(seen) > 8


def test_the_registers_and_shared_memory_read_from_a_cubin_are_the_drivers(driver):
    cubin = next(DATA.glob(f"two_kernels*.{driver.arch}.cubin"), None)
    if cubin is None:
        pytest.skip(f"there is no cubin for {driver.arch} among the test data")
    image = cubin.read_bytes()
    kernels = list(read_binary(cubin))
    assert len(kernels) == 2
    for kernel in kernels:
        function = driver.load(image, kernel.symbol)
        assert driver.attribute(function, NUM_REGS) == kernel.registers
        assert driver.attribute(function, SHARED_SIZE_BYTES) == kernel.static_shared_bytes
