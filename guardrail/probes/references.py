"""Resolving a manifest's references inside a worker."""

import importlib
from typing import Any

from guardrail.errors import MeasurementError


def resolve(reference: str) -> Any:
    """Import the object that a ``"module:attribute"`` reference names.

    Raises:
        MeasurementError: The module cannot be imported or has no such attribute.
    """
    module_name, _, attribute = reference.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise MeasurementError(f"{reference}: cannot import {module_name}: {error}") from error
    try:
        return getattr(module, attribute)
    except AttributeError as error:
        raise MeasurementError(f"{reference}: {module_name} has no {attribute}") from error


def modules_of(references: "tuple[str | None, ...]") -> tuple[str, ...]:
    """Name the modules that references point into, each once, sorted."""
    return tuple(sorted({reference.partition(":")[0] for reference in references if reference}))
