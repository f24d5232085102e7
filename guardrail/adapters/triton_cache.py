"""The kernels in a folder of Triton's compilation cache."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from guardrail.adapters.cuobjdump import read_binary
from guardrail.compiled.architectures import WARP_SIZE
from guardrail.compiled.resources import KernelResources
from guardrail.errors import MeasurementError, NothingReadError


def read_triton_cache(folder: Path) -> list[KernelResources]:
    """Read every cubin below a folder, with the launch size from the metadata beside it.

    Spills are not known: the log of the compilation is not kept.

    Raises:
        NothingReadError: There is no cubin.
        MeasurementError: A cubin is damaged, or its metadata is missing or not Triton's.
    """
    cubins = sorted(folder.rglob("*.cubin"))
    if not cubins:
        raise NothingReadError(f"{folder}: holds no *.cubin; expected a folder of Triton's cache")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [kernel for kernels in pool.map(_read, cubins) for kernel in kernels]


def _read(cubin: Path) -> list[KernelResources]:
    path = cubin.with_suffix(".json")
    try:
        metadata = json.loads(path.read_text())
        threads = int(metadata["num_warps"]) * WARP_SIZE
        shared = int(metadata["shared"])
        arch = f"sm_{metadata['target']['arch']}"
    except FileNotFoundError:
        raise MeasurementError(f"{cubin}: there is no {path.name} beside it, which Triton writes") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MeasurementError(f"{path}: not the metadata of a Triton kernel: {error!r}") from None
    toolchain = f"triton {metadata.get('triton_version', 'of unknown version')}"
    return [
        replace(kernel, arch=arch, threads=threads, dynamic_shared_bytes=shared)
        for kernel in read_binary(cubin, toolchain)
    ]
