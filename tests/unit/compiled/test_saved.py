import json
import re

import pytest

from guardrail.compiled.diff import compare
from guardrail.compiled.saved import comparison_to_json, join_json, load_kernels, to_json
from guardrail.errors import UsageError
from helpers.compiled_kernels import foreign_kernel, kernel


def test_a_kernel_is_one_object_with_every_figure():
    record = kernel("void f<'\"'>(int*)", registers=74, static_shared_bytes=1024, dynamic_shared_bytes=4096)
    assert json.loads(to_json(record)) == {
        "name": "void f<'\"'>(int*)",
        "arch": "sm_90",
        "registers": 74,
        "stack_bytes": 0,
        "spill_store_bytes": 0,
        "spill_load_bytes": 0,
        "shared_bytes": 5120,
        "dynamic_shared_bytes": 4096,
        "threads": 256,
        "blocks_per_sm": 3,
        "limited_by": "registers",
        "theoretical_occupancy": 0.375,
        "toolchain": "nvcc 13.0.88",
    }


def test_what_is_not_known_is_null():
    found = json.loads(to_json(foreign_kernel(static_shared_bytes=16)))
    assert [key for key, value in found.items() if value is None] == [
        "spill_store_bytes",
        "spill_load_bytes",
        "dynamic_shared_bytes",
        "threads",
        "blocks_per_sm",
        "limited_by",
        "theoretical_occupancy",
    ]
    assert found["shared_bytes"] == 16


def test_what_was_written_is_read_back():
    kernels = [kernel("a", static_shared_bytes=8, dynamic_shared_bytes=16), foreign_kernel("b", arch="sm_86")]
    assert load_kernels(join_json(map(to_json, kernels)), "old.json") == kernels


def test_no_kernel_is_an_empty_list():
    assert json.loads(join_json([])) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[\n{", "the JSON breaks off or is damaged on line 2"),
        ("3", "it holds something else"),
        ("[3]", "it holds something else"),
        ('{"schema": 1}', "it holds something else"),
        ('[{"name": "a"}]', "the key 'dynamic_shared_bytes' is missing"),
        (b"[\xd0]", "it is not UTF-8 text"),
        ("[" * 100_000, "recursion"),
        (f'[{{"registers": {"9" * 5000}}}]', "4300"),
    ],
)
def test_another_text_is_a_usage_error_that_names_its_source(text, what):
    with pytest.raises(UsageError, match=f"old.json: not a list of kernels .*{what}"):
        load_kernels(text, "old.json")


def test_a_figure_of_the_wrong_type_is_named():
    text = join_json([to_json(kernel())]).replace('"registers": 32', '"registers": "many"')
    with pytest.raises(UsageError, match="registers is 'many', not a whole number"):
        load_kernels(text, "old.json")


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("threads", -5, "threads is -5, less than 1"),
        ("threads", 0, "threads is 0, less than 1"),
        ("registers", -1, "registers is -1, less than 0"),
        ("stack_bytes", True, "stack_bytes is True, not a whole number"),
        ("dynamic_shared_bytes", 17, "dynamic_shared_bytes is 17, more than shared_bytes"),
    ],
)
def test_a_figure_that_no_kernel_can_have_is_named(key, value, what):
    record = json.loads(to_json(kernel(static_shared_bytes=8, dynamic_shared_bytes=8))) | {key: value}
    with pytest.raises(UsageError, match=re.escape(f"({what})")):
        load_kernels(json.dumps([record]), "old.json")


def test_a_comparison_is_one_object_of_lists():
    old = [kernel("a"), kernel("b", registers=40), kernel("gone"), kernel("same")]
    new = [kernel("a", registers=40), kernel("b"), kernel("fresh"), kernel("same")]
    found = json.loads(comparison_to_json(compare(old, new)))
    assert [(pair["old"]["registers"], pair["new"]["registers"]) for pair in found["worse"]] == [(32, 40)]
    assert [(pair["old"]["name"], pair["new"]["registers"]) for pair in found["better"]] == [("b", 32)]
    assert found["unchanged"] == 1
    assert [entry["name"] for entry in found["added"]] == ["fresh"]
    assert [entry["name"] for entry in found["removed"]] == ["gone"]
