"""Work that a probe asks for and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Environment(StrEnum):
    """The kind of worker process that a task needs."""

    HOST = "host"
    """Plain Python."""
    COMPILE = "compile"
    """Triton as a compiler, never interpreting."""
    EXECUTE = "execute"
    """Kernels run: on the GPU where there is one, else in Triton's interpreter."""
    COMMAND = "command"
    """A user's own command runs in the user's own environment, and nothing else meanwhile."""


@dataclass(frozen=True, slots=True)
class Task:
    """One call in a worker process, which depends on nothing but what it names."""

    function: str
    """``"module:function"``, called with `arguments`; returns plain JSON data."""
    arguments: Mapping[str, Any]
    """Plain data and frozen dataclasses."""
    environment: Environment
    modules: tuple[str, ...] = ()
    """Modules beyond the function's own whose sources decide the result."""
    timeout: float = 300.0
    """Seconds after which the worker is killed."""
    reusable: bool = True
    """False where a clock decides the outcome: it is measured anew in every run, never taken from a cache."""


@dataclass(frozen=True, slots=True)
class Done:
    """A task that returned."""

    value: Any
    seconds: float
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """A task that raised, hung, or whose worker died."""

    reason: str
    detail: str = ""
    """Traceback for ``--debug``; empty where there is none."""


Outcome = Done | Failed
