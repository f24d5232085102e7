"""Give a Hugging Face causal model's fp32 logits: ``transformers_logits.py REQUEST ANSWERS LOG``.

It runs in the interpreter that has transformers, which need not have guardrail.
"""

import base64
import json
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any


def logits(folder: str, prompts: list[list[int]]) -> list[dict[str, Any]]:
    """Run each prompt through the model, its weights widened to fp32.

    Args:
        folder: Folder of the model; nothing is downloaded, and none of its own code is run.
        prompts: Token ids.

    Returns:
        Plain data: fp32 logits behind each prompt's last token, and the prompt.
    """
    import torch
    from transformers import AutoModelForCausalLM

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    model = model.to(device=device, dtype=torch.float32).eval()
    torch.backends.cuda.matmul.allow_tf32 = False
    given = []
    for prompt in prompts:
        with torch.no_grad():
            row = model(input_ids=torch.tensor([prompt], device=device)).logits[0, -1].float().cpu().numpy()
        packed = {
            "dtype": "<f4",
            "shape": [row.size],
            "data": base64.b64encode(row.tobytes()).decode("ascii"),
        }
        given.append({"logits": packed, "prompt": prompt})
    return given


def main() -> None:
    """Answer what the request file asks."""
    request, answers, log = sys.argv[1:]
    stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    asked = json.loads(Path(request).read_text(encoding="utf-8"))
    found = logits(asked["model"], asked["prompts"])
    given = {"facts": {"transformers": metadata.version("transformers")}, "answers": [found]}
    Path(answers).write_text(json.dumps(given), encoding="utf-8")


if __name__ == "__main__":
    main()
