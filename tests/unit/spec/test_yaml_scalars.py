"""What unquoted words mean."""

import math

import pytest

from guardrail.spec.yaml_scalars import resolve


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("False", False),
        ("0", 0),
        ("-12", -12),
        ("+7", 7),
        ("0x1F", 31),
        ("0o17", 15),
        ("1e-6", 1e-6),
        ("1E3", 1000.0),
        ("2.", 2.0),
        (".5", 0.5),
        ("-0.25", -0.25),
        ("1.5e+2", 150.0),
        (".inf", math.inf),
        ("-.inf", -math.inf),
        ("1e999", math.inf),
    ],
)
def test_constants_and_numbers_are_values(word: str, value: object) -> None:
    assert resolve(word) == value
    assert type(resolve(word)) is type(value)


def test_nan_is_a_number() -> None:
    assert math.isnan(float(resolve(".nan") or 0))


@pytest.mark.parametrize(
    "word",
    [
        *("yes", "no", "on", "off", "y", "n", "tRUE"),
        *("2026-12-03", "12:30:00", "1_000", "0b11", "2%", "v1"),
        *("007", "0123456", "-00", "1.2.3", "e5", ".", "-", "1e", "0x", "0xg", "=", "<<"),
        "9" * 41,
        "\u0663",
    ],
)
def test_everything_else_is_text(word: str) -> None:
    assert resolve(word) == word


def test_the_longest_number_can_be_printed() -> None:
    assert str(resolve("9" * 40)) == "9" * 40
