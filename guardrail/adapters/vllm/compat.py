"""What guardrail reads from vLLM's configuration, where the supported releases differ."""

from typing import Any

import torch


def target_of(config: Any) -> tuple[Any, Any]:
    """Find the served model's configuration, from the draft model's as well.

    Args:
        config: VllmConfig.

    Returns:
        ModelConfig and ParallelConfig of the served model.
    """
    speculative = config.speculative_config
    if speculative is None or speculative.target_model_config is None:
        return config.model_config, config.parallel_config
    return speculative.target_model_config, speculative.target_parallel_config or config.parallel_config


def captured_sizes(config: Any) -> tuple[int, ...]:
    """List the token counts that attention is captured at, empty where it runs eagerly.

    The older model runner rounds them to whole verify steps after it has loaded the model: they are rounded
    here already, so that what is planned at load still holds then.

    Args:
        config: VllmConfig.
    """
    compilation = config.compilation_config
    if not compilation.cudagraph_mode.has_full_cudagraphs():
        return ()
    sizes = tuple(sorted(compilation.cudagraph_capture_sizes or ()))
    step = 1 + _draft_depth(config)
    if step == 1 or config.use_v2_model_runner:
        return sizes
    most = compilation.max_cudagraph_capture_size
    rounded = {-(-size // step) * step for size in sizes}
    return tuple(sorted(size for size in rounded if size <= most)) or (step,)


def device_of(device: torch.device | None) -> torch.device:
    """Name a device with its index; the current one where None."""
    return torch.empty(0, device=device).device


def facts_of(device: torch.device) -> tuple[int, tuple[int, int]]:
    """Count a GPU's multiprocessors, and name its compute capability."""
    properties = torch.cuda.get_device_properties(device)
    return properties.multi_processor_count, (properties.major, properties.minor)


def _draft_depth(config: Any) -> int:
    speculative = config.speculative_config
    return 0 if speculative is None else speculative.num_speculative_tokens or 0
