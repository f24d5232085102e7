"""Random quantized inputs, made on the device they are for, so that a real size takes no time on the host."""

import torch


def generator(seed: int, device: str) -> torch.Generator:
    """Seed a generator of a device.

    Args:
        seed: Seed; the numbers drawn differ from device to device.
        device: Where to draw.
    """
    return torch.Generator(device).manual_seed(seed)


def factors(shape: tuple[int, ...], drawn: torch.Generator) -> torch.Tensor:
    """Draw factors of blocks around 2**-10, as the bytes of float16.

    Args:
        shape: Shape of the factors, the last axis those of one block.
        drawn: What is drawn from.

    Returns:
        [..., 2 * shape[-1]] uint8.
    """
    values = (torch.rand(shape, generator=drawn, device=drawn.device) + 0.5) * 2**-10
    return values.to(torch.float16).view(torch.uint8)


def quantized(shape: tuple[int, ...], drawn: torch.Generator) -> torch.Tensor:
    """Draw any bytes: [...] uint8.

    Args:
        shape: Their shape.
        drawn: What is drawn from.
    """
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=drawn, device=drawn.device)
