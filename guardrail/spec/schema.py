"""The JSON Schema of a guards file, for editors and for other tools."""

import copy
from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic.json_schema import models_json_schema

from guardrail.spec.guards import Bound, GuardKind, GuardsFile

Schema: TypeAlias = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def guards_schema(kinds: Mapping[str, GuardKind]) -> Schema:
    """Describe a guards file: each probe's guards with their own keys and metrics.

    What a schema cannot say, such as that a profile exists, only loading the file tells.

    Args:
        kinds: What each probe asks of its guards, by the probe's name.

    Returns:
        A JSON Schema of draft 2020-12.
    """
    models = {kind.model for kind in kinds.values()} | {Bound}
    references, combined = models_json_schema(
        [(model, "validation") for model in sorted(models, key=lambda model: model.__name__)],
        ref_template="#/$defs/{model}",
    )
    definitions: dict[str, Schema] = _without_null(combined["$defs"])
    bound = references[Bound, "validation"]
    shapes = {
        probe: definitions[references[kind.model, "validation"]["$ref"].rpartition("/")[2]]
        for probe, kind in kinds.items()
    }
    guards = {
        f"{probe}-guard": _guard(shapes[probe], probe, kind, bound) for probe, kind in sorted(kinds.items())
    }
    file = GuardsFile.model_json_schema()
    properties: Schema = file["properties"]
    properties["guards"] |= {"items": {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in guards]}}
    kept = {
        name: shape
        for name, shape in definitions.items()
        if not any(shape is each for each in shapes.values())
    }
    return {
        "$schema": DIALECT,
        **file,
        "title": "guardrail guards file",
        "description": "Guards with a number for GPU kernels; checked by 'guardrail check'.",
        "$defs": kept | guards,
    }


def _guard(shape: Schema, probe: str, kind: GuardKind, bound: Schema) -> Schema:
    """Narrow a kind's own schema to its probe and to the probe's metrics."""
    guard = copy.deepcopy(shape)
    properties: Schema = guard["properties"]
    properties["probe"] = {"const": probe, "description": properties["probe"]["description"]}
    properties["require"] = {
        "type": "object",
        "title": "Require",
        "description": properties["require"]["description"],
        "minProperties": 1,
        "additionalProperties": bound if kind.names_metrics else False,
        "properties": {
            name: {
                **bound,
                "title": name,
                "description": f"{metric.meaning} Unit: {metric.unit}.",
            }
            for name, metric in kind.metrics.items()
        },
    }
    return guard | {"title": f"{probe} guard"}


def _without_null(schema: Any) -> Any:
    """Drop the null that pydantic offers for what may be left out: a file never states it."""
    if isinstance(schema, list):
        return [_without_null(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _without_null(value) for key, value in schema.items() if (key, value) != ("default", None)}
    alternatives = plain.get("anyOf", [])
    if {"type": "null"} in alternatives:
        rest = [each for each in alternatives if each != {"type": "null"}]
        del plain["anyOf"]
        plain |= rest[0] if len(rest) == 1 else {"anyOf": rest}
    return plain
