"""The records in what ``cuobjdump --dump-resource-usage`` prints."""

import re
from collections.abc import Callable, Iterable, Iterator

from guardrail.compiled.architectures import KIB, base_arch
from guardrail.compiled.resources import KernelResources

_USAGE = re.compile(rb"\s*REG:(\d+) STACK:(\d+) SHARED:(\d+)")
_FUNCTION = b" Function "
_ARCH = b"arch = "


def parse_resource_usage(
    lines: Iterable[bytes], *, demangle: Callable[[str], str], toolchain: str, arch: str | None = None
) -> Iterator[KernelResources]:
    """Read one record for each kernel, as the lines arrive.

    Args:
        lines: Output lines of cuobjdump.
        demangle: Turns a mangled name into a readable one; called once for each distinct name.
        toolchain: Recorded in every record.
        arch: Architecture of the kernels that precede any architecture line; a cubin's output has none.

    Yields:
        The kernels in file order.
    """
    names: dict[bytes, tuple[str, str]] = {}
    name = ("", "")
    reserved = _reserved_in_usage(arch)
    for line in lines:
        if line.startswith(_FUNCTION):
            raw = line[len(_FUNCTION) :].rstrip().removesuffix(b":")
            if raw not in names:
                mangled = raw.decode()
                names[raw] = (demangle(mangled), mangled)
            name = names[raw]
        elif usage := _USAGE.match(line):
            registers, stack, shared = map(int, usage.groups())
            yield KernelResources(
                name=name[0],
                arch=arch or "unknown",
                registers=registers,
                stack_bytes=stack,
                static_shared_bytes=max(0, shared - reserved),
                toolchain=toolchain,
                symbol=name[1],
            )
        elif line.startswith(_ARCH):
            arch = line[len(_ARCH) :].decode().strip()
            reserved = _reserved_in_usage(arch)


def _reserved_in_usage(arch: str | None) -> int:
    # From sm_90 on, a kernel with any shared memory carries the driver's reservation as a section of its own,
    # which cuobjdump adds to the kernel's. (ptxas and the driver's function attributes do not.)
    number = base_arch(arch or "").removeprefix("sm_")
    return KIB if number.isdigit() and int(number) >= 90 else 0
