"""What ``ptxas -v`` says about the functions it has just compiled."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_FUNCTION = re.compile(r"^\S+\s+info\s*:\s*Function properties for (\S+)\s*$")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True, slots=True)
class Spills:
    """Bytes that one thread of a function moves between registers and local memory for want of registers."""

    store_bytes: int
    load_bytes: int


def parse_ptxas_log(log: str) -> Mapping[str, Spills]:
    """Read the spills of each function.

    Args:
        log: What ptxas (under any name) or NVRTC printed with verbose output.

    Returns:
        Spills by mangled name; empty where the log names no function.
    """
    spills: dict[str, Spills] = {}
    function = None
    for line in log.splitlines():
        if named := _FUNCTION.match(line):
            function = named[1]
        elif (found := _SPILLS.search(line)) and function is not None:
            spills[function] = Spills(store_bytes=int(found[2]), load_bytes=int(found[3]))
            function = None
    return spills
