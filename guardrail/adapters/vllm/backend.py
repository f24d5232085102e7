"""The backend that vLLM finds under the name TRITON_ATTN once the plug-in is loaded."""

from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend

from guardrail.adapters.vllm.builder import GuardrailBuilder
from guardrail.adapters.vllm.impl import GuardrailImpl


class GuardrailBackend(TritonAttentionBackend):  # type: ignore[misc]
    """vLLM's Triton attention, with guardrail's layers and builders."""

    @staticmethod
    def get_impl_cls() -> type[GuardrailImpl]:
        """Name the layers' class."""
        return GuardrailImpl

    @staticmethod
    def get_builder_cls() -> type[GuardrailBuilder]:
        """Name the builders' class."""
        return GuardrailBuilder
