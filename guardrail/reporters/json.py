"""The saved report: a run as JSON that can be read and judged again."""

import json
import math
from typing import TYPE_CHECKING, Any

from guardrail.errors import ExitCode, GuardrailError
from guardrail.records.report import SCHEMA_VERSION, RunReport
from guardrail.records.verdict import Status
from guardrail.reporters.json_document import document, first_difference

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_MAJOR = SCHEMA_VERSION.partition(".")[0]
_FAULTS_SHOWN = 5


class SavedReportError(GuardrailError):
    """A file is not a saved report that this version of guardrail can read.

    Args:
        file: The file.
        fault: What is wrong with it.
    """

    exit_code = ExitCode.USAGE

    def __init__(self, file: str, fault: str) -> None:
        super().__init__(
            f"{file}: {fault}; expected a report as guardrail writes it in JSON, in format {_MAJOR}.x"
        )


class JsonReporter:
    """Writes a run as JSON; `load` reads it back."""

    def render(self, report: RunReport) -> str:
        """Write everything that the records hold, in UTF-8 text that is valid JSON."""
        return json.dumps(document(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def load(text: str, file: str) -> RunReport:
    """Read a saved report.

    Args:
        text: What the file holds.
        file: Name of the file, for error messages.

    Returns:
        The run, equal to the one that was written.

    Raises:
        SavedReportError: The text is not JSON, is of another major version, lacks a key, has one too many or
            a value of a wrong type, or states a status, count or exit code that its verdicts do not give. A
            later minor version may have keys that are not known here; they are left out.
    """
    from pydantic import ValidationError

    if not text.strip():
        raise SavedReportError(file, "the file is empty")
    try:
        found = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise SavedReportError(file, f"not valid JSON ({error})") from error
    if not isinstance(found, dict) or "schema_version" not in found:
        raise SavedReportError(file, "schema_version is missing")
    version = found["schema_version"]
    if not isinstance(version, str) or version.partition(".")[0] != _MAJOR:
        remedy = "read it with the guardrail that wrote it, or measure again"
        raise SavedReportError(file, f"schema_version is {version!r}: {remedy}")
    found["schema_version"] = SCHEMA_VERSION
    try:
        (report,) = _adapter().validate_json(json.dumps([found]), strict=True)
    except ValidationError as error:
        raise SavedReportError(file, _faults(error)) from error
    if difference := first_difference(found, document(report), unknown_keys=version != SCHEMA_VERSION):
        raise SavedReportError(file, difference)
    return report


def schema() -> dict[str, Any]:
    """Describe what `JsonReporter` writes, as JSON Schema (draft 2020-12)."""
    definitions = _adapter().json_schema(mode="serialization")["$defs"]
    report = definitions["RunReport"]
    count = {"type": "integer", "minimum": 0}
    statuses = [status.value for status in Status]
    report["properties"] |= {
        "schema_version": {"const": SCHEMA_VERSION, "description": "Version of this format."},
        "exit_code": {
            "enum": [int(code) for code in ExitCode if code is not ExitCode.USAGE],
            "description": "What `guardrail check` said to the shell.",
        },
        "counts": {
            "type": "object",
            "description": "How many guards ended with each status.",
            "properties": dict.fromkeys(statuses, count),
            "required": statuses,
        },
    }
    status = {"$ref": "#/$defs/Status", "description": "The worst of the verdicts."}
    definitions["GuardResult"]["properties"]["status"] = status
    for definition in definitions.values():
        if "properties" in definition:
            definition["required"] = list(definition["properties"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "guardrail report",
        "$ref": "#/$defs/RunReport",
        "$defs": definitions,
    }


def _adapter() -> "TypeAdapter[tuple[RunReport]]":
    # pydantic hands a configuration down to dataclasses that have none, but not to the outermost type.
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(tuple[RunReport], config=ConfigDict(use_attribute_docstrings=True))


def _faults(error: "ValidationError") -> str:
    faults = [
        f"{'.'.join(map(str, fault['loc'][1:]))}: {fault['msg']}" for fault in error.errors(include_url=False)
    ]
    left = len(faults) - _FAULTS_SHOWN
    return "; ".join(faults[:_FAULTS_SHOWN]) + (f"; and {left} more" if left > 0 else "")


def _finite(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise ValueError(f"{literal} is not a finite number")
    return number
