"""What workers are asked to do in tests."""

import os
import signal
import sys
import time
from typing import Any

import guardrail.errors

_STATE = {"spoiled": False}


def add(one: int, other: int) -> int:
    """Return plain data."""
    return one + other


def process_facts() -> dict[str, Any]:
    """Report what a worker process was given."""
    names = ("TRITON_INTERPRET", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")
    return {"pid": os.getpid(), "path": sys.path[:2]} | {name: os.environ.get(name) for name in names}


def hang() -> None:
    """Never return."""
    time.sleep(600)


def segfault() -> None:
    """Die as a broken native library does."""
    os.kill(os.getpid(), signal.SIGSEGV)


def leave_at_once() -> None:
    """Die without a word."""
    os._exit(7)


def leave() -> None:
    """Ask the interpreter to end."""
    sys.exit(0)


def raise_user_error() -> None:
    """Raise as a user's kernel might."""
    raise ZeroDivisionError("units of an empty row\nand a second line")


def raise_guardrail_error() -> None:
    """Raise as a probe's own function does."""
    raise guardrail.errors.MeasurementError("the domain has no cases")


def print_much() -> str:
    """Write to both streams, above and below Python."""
    print("noise on stdout", flush=True)  # noqa: T201
    print("noise on stderr", file=sys.stderr, flush=True)  # noqa: T201
    os.write(1, b"noise on descriptor 1\n")
    os.write(2, b"noise on descriptor 2\n")
    return "quiet"


def return_a_tuple_and_a_key() -> dict[int, tuple[int, ...]]:
    """Return what JSON writes otherwise."""
    return {1: (2, 3)}


def return_a_set() -> set[int]:
    """Return what is no plain data."""
    return {1}


def spoil() -> None:
    """Fail, and leave a state behind that makes the next task of this process fail too."""
    _STATE["spoiled"] = True
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


def work_unless_spoiled() -> str:
    """Fail where an earlier task of this process spoiled it."""
    if _STATE["spoiled"]:
        raise RuntimeError("the CUDA context is gone")
    return "clean"
