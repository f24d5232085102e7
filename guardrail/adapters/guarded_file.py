"""Reading the kernels of a guarded file. Runs in a host worker."""

import re

from guardrail.adapters.resource_targets import Launch, read_target
from guardrail.compiled.file_subject import FileSubject
from guardrail.compiled.resources import KernelResources
from guardrail.errors import NothingReadError


def read_kernels(
    subject: FileSubject, arch: str, kernel: str | None, threads: int | None, dynamic_shared: int | None
) -> list[KernelResources]:
    """Read the kernels of a file that a guard is about.

    Args:
        subject: The file; its hash makes the outcome cacheable.
        arch: Architecture to compile for or to look at.
        kernel: Regular expression that a kernel's name must contain; all kernels where None.
        threads: Threads a block, where neither binary nor metadata says.
        dynamic_shared: Dynamic shared memory a block in bytes, counted with `threads`.

    Raises:
        NothingReadError: No kernel matches.
        MeasurementError: The file cannot be read or does not compile.
    """
    launch = None if threads is None else Launch(threads, dynamic_shared or 0)
    kernels = list(read_target(subject.path, arch, launch))
    wanted = [found for found in kernels if kernel is None or re.search(kernel, found.name)]
    if not wanted:
        raise NothingReadError(
            f"{subject.path}: none of its {len(kernels)} kernels for {arch} matches {kernel!r}"
        )
    return wanted
