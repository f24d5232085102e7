import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """Give guardrail's logger back as it was: inside vLLM its messages go to vLLM's handlers."""
    logger = logging.getLogger("guardrail")
    handlers, level, propagate = logger.handlers[:], logger.level, logger.propagate
    yield
    logger.handlers[:], logger.level, logger.propagate = handlers, level, propagate
