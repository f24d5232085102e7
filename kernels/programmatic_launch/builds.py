"""Compilations of programmatically launched kernels; imports neither torch nor triton."""

from collections.abc import Iterable
from dataclasses import replace

from guardrail.families.interface import Build

_BEFORE_HOPPER = ("sm_80", "sm_86", "sm_87", "sm_89")
_FROM_HOPPER = ("sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121")


def as_launched(builds: Iterable[Build]) -> tuple[Build, ...]:
    """Divide builds by whether their architecture launches programmatically, as `host.options` decides.

    Args:
        builds: Builds without the constant ``PDL``.
    """
    return tuple(
        replace(build, constants={**build.constants, "PDL": programmatic}, archs=archs)
        for build in builds
        for programmatic, known in ((False, _BEFORE_HOPPER), (True, _FROM_HOPPER))
        if (archs := tuple(arch for arch in known if not build.archs or arch in build.archs))
    )
