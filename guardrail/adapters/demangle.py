"""Readable C++ names, by the demangler of whichever C++ runtime is installed."""

import ctypes
from collections.abc import Callable
from functools import cache

from guardrail.compiled.mangled import abbreviate, restore

_RUNTIMES = ("libstdc++.so.6", "libc++abi.so.1", "libc++.so.1")


def demangle(mangled: str) -> str:
    """Demangle one name by ``__cxa_demangle``.

    Args:
        mangled: A symbol of the Itanium C++ ABI, or any other name.

    Returns:
        The readable name; `mangled` itself where it is not a C++ symbol, where the runtime refuses it even
        abbreviated, or where there is no C++ runtime.
    """
    demangler = _demangler()
    if demangler is None or not mangled.startswith("_Z"):
        return mangled
    if readable := demangler(mangled):
        return readable
    short, identifiers = abbreviate(mangled)
    readable = demangler(short)
    return mangled if readable is None else restore(readable, identifiers)


@cache
def _demangler() -> Callable[[str], str | None] | None:
    runtime = next(filter(None, map(_load, _RUNTIMES)), None)
    if runtime is None:
        return None
    cxa_demangle = runtime.__cxa_demangle
    cxa_demangle.restype = ctypes.c_void_p
    cxa_demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    free = ctypes.CDLL(None).free
    free.restype = None
    free.argtypes = [ctypes.c_void_p]
    status = ctypes.c_int()

    def call(mangled: str) -> str | None:
        text = cxa_demangle(mangled.encode("latin-1"), None, None, status)
        if text is None:
            return None
        try:
            return ctypes.string_at(text).decode("latin-1")
        finally:
            free(text)

    return call


def _load(library: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(library)
    except OSError:
        return None
