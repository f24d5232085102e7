"""Run a Hugging Face causal model in a worker for the logits of its first step."""

from collections.abc import Sequence
from typing import Any

import torch

from guardrail.errors import MeasurementError
from guardrail.logits.packing import pack


def run_hf_model(path: str, prompts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Load a model in the type that it is stored in, and run equally long prompts through it.

    Args:
        path: Folder of the model; nothing is downloaded, and none of its own code is run.
        prompts: Token ids of each sequence.

    Returns:
        Plain data: the size of its ``vocabulary``, and packed fp32 ``logits`` of the prompts' last tokens,
        which are left out where a token is outside the vocabulary.

    Raises:
        MeasurementError: The model cannot be loaded.
    """
    from transformers import AutoModelForCausalLM

    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        model = AutoModelForCausalLM.from_pretrained(
            path, dtype="auto", local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        raise MeasurementError(f"{path}: transformers cannot load it: {error}") from error
    vocabulary = model.get_input_embeddings().weight.shape[0]
    if any(token >= vocabulary for prompt in prompts for token in prompt):
        return {"vocabulary": vocabulary}
    model = model.to(device).eval()
    with torch.no_grad():
        logits = model(input_ids=torch.tensor(prompts, device=device)).logits[:, -1].float()
    return {"vocabulary": vocabulary, "logits": pack(logits.cpu().numpy())}
