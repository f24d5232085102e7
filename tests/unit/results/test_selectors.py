import json

import pytest

from guardrail.errors import MeasurementError
from guardrail.results.json_path import path_steps
from guardrail.results.readers import READERS, require_selector

TEXT = """[info] starting
{"warmup": true} is not the result
{
  "runs": [{"rate": 10.5, "n": 128}, {"rate": 11.5, "n": 128}],
  "rates": [1, 2.5, 4],
  "name": "tiny", "nothing": null, "nan": NaN, "empty": []
}
"""
LOG = "step 1: 1,048.5 tok/s\nstep 2: 99 tok/s\ntotal: n=128 model=tiny\nbad: 1.2.3 x\n"


def test_a_path_leads_to_a_number_behind_other_output():
    output = READERS["json"](TEXT, "bench")
    series = output.series("runs[1].rate")
    assert (series.samples, series.unit) == ((11.5,), None)
    assert output.series("runs[-1].rate").samples == (11.5,)
    assert output.series("rates").samples == (1.0, 2.5, 4.0)
    assert (output.stated("runs[0].n", series), output.stated("name", series)) == (128, "tiny")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("runs[2].rate", "bench: the output has no runs[2].rate; there is a list of 2"),
        ("runs.rate", "bench: the output has no runs.rate; there is a list of 2"),
        ("rate", "bench: the output has no rate; it goes on with runs, rates, name, nothing, nan, empty"),
        ("name.rate", "bench: the output has no name.rate; there is 'tiny'"),
        ("name", "bench: name: expected a finite number, not 'tiny'"),
        ("nothing", "bench: nothing: expected a finite number, not 'None'"),
        ("nan", "bench: nan: expected a finite number, not 'nan'"),
        ("empty", "bench: empty: the list is empty"),
    ],
)
def test_a_path_to_no_number_says_what_is_there(path, message):
    with pytest.raises(MeasurementError) as caught:
        READERS["json"](TEXT, "bench").series(path)
    assert str(caught.value) == message


def test_an_integer_beyond_a_float_is_no_finite_number():
    output = READERS["json"](f'{{"rate": {10**400}}}', "bench")
    with pytest.raises(MeasurementError, match="bench: rate: expected a finite number, not '10000000000"):
        output.series("rate")


def test_the_keys_that_are_there_are_all_listed_or_counted():
    keys = [f"k{number}" for number in range(23)]
    for stated, message in (
        (keys[:20], f"bench: the output has no rate; it goes on with {', '.join(keys[:20])}"),
        (keys, f"bench: the output has no rate; it goes on with {', '.join(keys[:20])} and 3 more"),
    ):
        with pytest.raises(MeasurementError) as caught:
            READERS["json"](json.dumps(dict.fromkeys(stated, 1)), "bench").series("rate")
        assert str(caught.value) == message


def test_text_without_json_is_refused_with_its_last_line():
    with pytest.raises(MeasurementError, match="expected JSON in the output; its last line is 'done'"):
        READERS["json"]("a\ndone\n\n", "bench")
    with pytest.raises(MeasurementError, match="it is empty"):
        READERS["json"]("", "bench")


@pytest.mark.parametrize(
    ("path", "steps"),
    [("a", ["a"]), ("a.b[0].c", ["a", "b", 0, "c"]), ("[3]", [3]), ("a b.c-d", ["a b", "c-d"])],
)
def test_paths_are_split_into_keys_and_indices(path, steps):
    assert path_steps(path) == steps


@pytest.mark.parametrize("path", ["", ".a", "a..b", "a[x]", "a[", "a]"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ValueError, match=r"write one as a\.b\[0\]\.c"):
        require_selector("json", path)


def test_a_regular_expression_takes_the_last_match_or_all():
    pattern = r"([\d,.]+) tok/s"
    assert READERS["regex"](LOG, "bench").series(pattern).samples == (99.0,)
    output = READERS["regex-all"](LOG, "bench")
    series = output.series(pattern)
    assert series.samples == (1048.5, 99.0)
    assert (output.stated(r"n=(\d+)", series), output.stated(r"model=(\w+)", series)) == (128, "tiny")


def test_a_regular_expression_that_finds_no_number_says_so():
    output = READERS["regex"](LOG, "bench")
    with pytest.raises(MeasurementError, match=r"; its last line is 'bad: 1\.2\.3 x'$"):
        output.series(r"(\d+) ms")
    with pytest.raises(MeasurementError, match=r"nothing in the output matches '\(x\)'; it is empty"):
        READERS["regex-all"]("\n", "bench").series("(x)")
    with pytest.raises(MeasurementError, match=r"expected a finite number, not '1\.2\.3'"):
        output.series(r"bad: (\S+)")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "is not a regular expression"),
        (r"\d+", "has 0 groups; put the number"),
        ("(a)(b)", "has 2 groups"),
    ],
)
def test_a_pattern_needs_one_group(pattern, message):
    with pytest.raises(ValueError, match=message):
        require_selector("regex-all", pattern)
