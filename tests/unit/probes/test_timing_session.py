from dataclasses import replace

from helpers.timing import OPERATION, plan


def test_a_window_times_the_arms_of_each_case_with_the_steady_one_once():
    cases = {"small": {"elements": 1000}, "large": {"elements": 100_000}}
    stated = plan(
        cases=cases,
        arms={"small": ("short", "padded"), "large": ("padded",)},
        steady={"small": "padded", "large": "short"},
        caches=("cold", "hot"),
    )
    windows = stated.windows
    assert [(each.name, each.arm, each.cache) for each in windows.timed] == [
        ("small", "short", "cold"), ("small", "short", "hot"),
        ("small", "padded", "cold"), ("small", "padded", "hot"),
        ("large", "padded", "cold"), ("large", "padded", "hot"),
        ("large", "short", "cold"), ("large", "short", "hot"),
    ]  # fmt: skip
    assert windows.timed[0].case == cases["small"]
    assert windows.timed[0].operation is OPERATION


def test_a_window_is_measured_as_its_plan_states():
    windows = replace(plan(), captured=True, calls=7, relative_error=0.25, rates=("l2_read",)).windows
    assert (windows.captured, windows.calls, windows.relative_error, windows.rates) == (
        True, 7, 0.25, ("l2_read",),
    )  # fmt: skip
