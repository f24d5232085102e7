"""GPU profiling and regression guards for LLM-inference kernels."""

__version__ = "0.1.0"
