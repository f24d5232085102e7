"""What guardrail logs inside vLLM, in vLLM's log."""

import logging


class _ToVllm(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        logging.getLogger("vllm.guardrail").handle(record)


def show_in_vllm() -> None:
    """Pass guardrail's messages to vLLM's handlers, which serve no logger outside its own namespace."""
    guardrail = logging.getLogger("guardrail")
    if not any(isinstance(handler, _ToVllm) for handler in guardrail.handlers):
        guardrail.addHandler(_ToVllm())
        guardrail.setLevel(logging.INFO)
        guardrail.propagate = False
