"""A buffer of three rows a sequence."""

from collections.abc import Iterator

from guardrail.families import Case, ModelProfile


def configurations() -> Iterator[Case]:
    return ({"sequences": sequences} for sequences in (1, 2, 4))


def capacity(configuration: Case) -> int:
    return 3 * int(configuration["sequences"])


def smaller_capacity(configuration: Case) -> int:
    return capacity(configuration) - 1


def demands(configuration: Case) -> Iterator[tuple[str, int]]:
    return ((str(batch), 3 * batch) for batch in range(1, int(configuration["sequences"]) + 1))


def row_bytes(model: ModelProfile) -> int:
    return 2 * model.head_size
