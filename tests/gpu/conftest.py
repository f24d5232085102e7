import os
import secrets

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests that need the GPU alone first: this process holds it from its first kernel on."""
    items.sort(key=lambda item: item.get_closest_marker("alone") is None)


@pytest.fixture
def seed() -> int:
    """A fresh seed, or the one of GUARDRAIL_TEST_SEED, to repeat a failure."""
    return int(os.environ.get("GUARDRAIL_TEST_SEED", secrets.randbits(32)))
