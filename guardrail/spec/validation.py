"""A part of a user's file against its pydantic model: every fault, with its line."""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from guardrail.spec.faults import Fault
from guardrail.spec.messages import is_wrong_kind, sentence, wrong_kind
from guardrail.spec.suggest import did_you_mean, shortened
from guardrail.spec.yaml_lines import Document, Plain, Step

ModelT = TypeVar("ModelT", bound=BaseModel)


def validate(
    model: type[ModelT], document: Document, data: Plain, at: tuple[Step, ...] = ()
) -> tuple[ModelT | None, list[Fault]]:
    """Check a part of a file against a model.

    Args:
        model: What the part must look like.
        document: The file.
        data: The part.
        at: Where in the file the part is.

    Returns:
        The model's instance, None where there are faults; and all the faults.
    """
    empty = list(_empty(data))
    faults = [
        document.fault(f"{_name(path)} has no value; give it one or remove it", *at, *path) for path in empty
    ]
    instance = None
    try:
        instance = model.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        faults += [
            document.fault(message, *at, *path)
            for path, message in _translate(model, data, found, _above(empty) | set(empty))
        ]
    return (None if faults else instance), faults


def explain(model: type[BaseModel], data: Plain, error: ValidationError) -> list[str]:
    """Say everything that is wrong with data that no file states, in one sentence each."""
    found = error.errors(include_url=False, include_input=False)
    return [message for _, message in _translate(model, data, found, set())]


def _empty(data: Plain, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """Find every key and list item without a value."""
    if data is None and path:
        yield path
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _empty(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _empty(value, (*path, index))


def _translate(
    model: type[BaseModel], data: Plain, errors: list[ErrorDetails], judged: Set[tuple[Step, ...]]
) -> Iterator[tuple[tuple[Step, ...], str]]:
    """Give one sentence for each missing or unknown key and for each other place not judged yet."""
    by_place: dict[tuple[Step, ...], list[ErrorDetails]] = {}
    for error in errors:
        location = error["loc"]
        if error["type"] == "missing":
            path = _place(data, location[:-1])
            yield path, f"{_of(path)}the key {location[-1]!r} is missing"
        elif error["type"] == "extra_forbidden":
            path = _place(data, location)
            known = _known_keys(model, path[:-1])
            key = str(path[-1])
            yield path, f"{_of(path[:-1])}unknown key {shortened(key)}{did_you_mean(key, known)}"
        else:
            by_place.setdefault(_place(data, location), []).append(error)
    # An alternative of a union that got further than a place is the one that the user meant.
    judged |= _above(by_place)
    for path, here in by_place.items():
        if path not in judged:
            yield path, _sentence(path, data, here)


def _above(paths: Iterable[tuple[Step, ...]]) -> set[tuple[Step, ...]]:
    return {path[:depth] for path in paths for depth in range(len(path))}


def _sentence(path: tuple[Step, ...], data: Plain, errors: list[ErrorDetails]) -> str:
    # Likewise, an alternative that got past the value's kind.
    for error in errors:
        if not is_wrong_kind(error["type"]):
            said = sentence(error["type"], error.get("ctx", {}), error["msg"])
            return f"{_of(path)}{said}" if error["type"] == "value_error" else f"{_name(path)} {said}"
    return f"{_name(path)} {wrong_kind([error['type'] for error in errors], _value(data, path))}"


def _place(data: Plain, location: tuple[Step, ...]) -> tuple[Step, ...]:
    """Keep of pydantic's location what is in the file: it also names the alternatives of a union."""
    path: list[Step] = []
    for step in location:
        inside = (isinstance(data, dict) and step in data) or (
            isinstance(data, list) and isinstance(step, int) and step < len(data)
        )
        if inside:
            path.append(step)
            data = _value(data, (step,))
    return tuple(path)


def _value(data: Any, path: tuple[Step, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


def _name(path: tuple[Step, ...]) -> str:
    """Name a place for the reader: ``require.spill_bytes.floor``, ``models[2]``."""
    name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
    return shortened(name, 120)[1:-1] if name else "this"


def _of(path: tuple[Step, ...]) -> str:
    return f"{_name(path)}: " if path else ""


def _known_keys(model: type[BaseModel], path: tuple[Step, ...]) -> set[str]:
    """Collect the keys that the models at a place accept."""
    models = [model]
    for step in path:
        fields: Mapping[str, Any] = {
            key: field for each in models for key, field in each.model_fields.items()
        }
        # A step that is no field goes into a list or mapping, whose models were unwrapped with the field.
        if step in fields:
            models = list(_models_in(fields[str(step)].annotation))
    return {field.alias or key for each in models for key, field in each.model_fields.items()}


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
