import numpy as np
import pytest
from pydantic import ValidationError

from guardrail.compiled.file_subject import FileSubject
from guardrail.logits.packing import pack
from guardrail.probes.interface import Context
from guardrail.probes.vllm_logits import VllmLogitsProbe
from guardrail.probes.vllm_logits_guard import VllmLogitsGuard
from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.task import Done, Failed
from helpers.probing import answering, measured, sentences

CONTEXT = Context({}, None, interpreted=True, folder="/guards", seed=3)
SUBJECT = FileSubject("engine.yaml", "0" * 64)
RIGHT = np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)


def guard(require=None, **keys):
    stated = {
        "id": "g",
        "title": "t",
        "probe": "vllm_logits",
        "subject": "engine.yaml",
        "reference": "stock.yaml",
        "require": require or {"max_abs_delta": {"ceiling": 1e-3}},
    }
    return VllmLogitsGuard.model_validate(stated | keys)


def measure(asked, **roles):
    value = {"steps": {"8 query tokens": {role: pack(array) for role, array in roles.items()}}}
    return measured(
        VllmLogitsProbe(),
        asked,
        SUBJECT,
        CONTEXT,
        answering({"collect_logits": lambda task: Done(value, 1.0)}),
    )


def values(found):
    return {item.metric: item.value for item in found if isinstance(item, Measurement)}


def test_a_verify_step_is_compared_with_the_reference():
    ours = RIGHT.copy()
    ours[1, 2] += 0.25
    found, _ = measure(guard(), subject=ours, reference=RIGHT)
    stated = values(found)
    assert stated["max_abs_delta"] == pytest.approx(0.25)
    assert stated["mean_abs_delta"] == pytest.approx(0.25 / 16)
    assert 0.001 < stated["kl"] < 0.01
    assert (stated["argmax_differs"], stated["nonfinite_logits"]) == (0, 0)
    assert "rounding_multiple" not in stated
    assert {tuple(item.where.items()) for item in found} == {(("step", "8 query tokens"),)}
    assert sentences(next(item for item in found if item.metric == "max_abs_delta")) == [
        "worst at sequence 1, token 2"
    ]


def test_equal_logits_differ_in_nothing():
    assert values(measure(guard(), subject=RIGHT, reference=RIGHT)[0]) == {
        "max_abs_delta": 0.0,
        "mean_abs_delta": 0.0,
        "kl": 0.0,
        "argmax_differs": 0,
        "nonfinite_logits": 0,
    }


def test_the_difference_is_counted_in_those_of_two_references():
    asked = guard(pair="other.yaml", require={"rounding_multiple": {"ceiling": 2}})
    stated = values(measure(asked, subject=RIGHT + 0.5, reference=RIGHT, pair=RIGHT + 0.125)[0])
    assert stated["rounding_multiple"] == pytest.approx(4.0)


@pytest.mark.parametrize(("ours", "multiple"), [(RIGHT, 0.0), (RIGHT + 1, None)])
def test_references_that_do_not_differ_say_nothing_of_rounding(ours, multiple):
    asked = guard(pair="other.yaml")
    assert (
        values(measure(asked, subject=ours, reference=RIGHT, pair=RIGHT)[0])["rounding_multiple"] == multiple
    )


def test_nan_leaves_every_difference_unknown():
    ours = RIGHT.copy()
    ours[0, 0] = np.nan
    stated = values(measure(guard(pair="p.yaml"), subject=ours, reference=RIGHT, pair=RIGHT + 1)[0])
    assert (stated["nonfinite_logits"], stated["max_abs_delta"], stated["kl"]) == (1, None, None)
    assert stated["rounding_multiple"] is None


def test_prompts_are_drawn_with_the_seed_of_the_run_or_stated():
    ((task,),) = measure(guard(query_tokens=[8]), subject=RIGHT, reference=RIGHT)[1]
    drawn = task.arguments["prompts"]
    assert [len(prompt) for prompt in drawn] == [64, 64]
    assert (task.arguments["reference"], task.arguments["pair"], task.reusable) == (
        "/guards/stock.yaml",
        None,
        False,
    )
    ((task,),) = measure(guard(prompts=[[1, 2]]), subject=RIGHT, reference=RIGHT)[1]
    assert task.arguments["prompts"] == [[1, 2]]


def test_an_engine_that_fails_is_an_error():
    answer = answering({"collect_logits": lambda task: Failed("out of memory")})
    assert measured(VllmLogitsProbe(), guard(), SUBJECT, CONTEXT, answer)[0] == [Unmeasured("out of memory")]


def test_the_descriptions_are_files_that_the_measurement_depends_on():
    assert guard().further_files == ("stock.yaml",)
    assert guard(pair="p.yaml").further_files == ("stock.yaml", "p.yaml")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"require": {"argmax_differs": {"equals": 0}}}, "the same argmax is no proof"),
        ({"require": {"rounding_multiple": {"ceiling": 2}}}, "rounding_multiple needs 'pair'"),
        ({"prompts": [[1]], "sequences": 2}, "'prompts' goes without 'sequences'"),
        (
            {"query_tokens": [16], "prompt_tokens": 16},
            "a prompt of 16 tokens leaves nothing to cache before 16",
        ),
        ({"query_tokens": [3], "prompts": [[1, 2, 3, 4], [1, 2]]}, "a prompt of 2 tokens leaves nothing"),
        ({"query_tokens": [1]}, "greater than or equal to 2"),
    ],
)
def test_keys_that_do_not_fit_together_are_refused(keys, message):
    with pytest.raises(ValidationError, match=message):
        guard(**keys)
