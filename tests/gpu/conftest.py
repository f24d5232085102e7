import os
import secrets

import pytest


@pytest.fixture
def seed() -> int:
    """A fresh seed, or the one of GUARDRAIL_TEST_SEED, to repeat a failure."""
    return int(os.environ.get("GUARDRAIL_TEST_SEED", secrets.randbits(32)))
