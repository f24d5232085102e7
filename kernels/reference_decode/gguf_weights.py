"""Weights from a GGUF file of Llama or Qwen2."""

from pathlib import Path
from typing import Any

import torch

from guardrail.errors import MeasurementError, ToolMissingError, UsageError
from guardrail.kernels.reference_decode.geometry import Geometry, check_rows
from guardrail.kernels.reference_decode.weights import OUTPUT, RawMatrix

_EMBEDDING = "token_embd"
_INTERLEAVED = {"llama": True, "qwen2": False}
"""Which architectures there are, and whether their files interleave the halves of a head."""
_QUANTIZATIONS = {"Q4_K": "q4_k", "Q6_K": "q6_k"}


class GgufWeights:
    """The tensors of one file, read when they are asked for.

    Args:
        path: The file.
        device: Where the tensors go.

    Raises:
        UsageError: The file is missing, no GGUF, or of an architecture other than Llama and Qwen2.
        MeasurementError: Its rows are no whole blocks.
        ToolMissingError: The package ``gguf`` is not installed.
    """

    def __init__(self, path: str, device: str) -> None:
        try:
            import gguf
        except ModuleNotFoundError as error:
            raise ToolMissingError(
                "gguf", "read weights from a GGUF file", "Run: pip install gguf"
            ) from error
        if not Path(path).is_file():
            raise UsageError(f"{path}: there is no such file; expected a GGUF file of q4_K and q6_K weights")
        try:
            reader = gguf.GGUFReader(path)
        except (ValueError, IndexError) as error:
            raise UsageError(f"{path}: cannot be read as a GGUF file: {error}") from error
        self._path = path
        self._device = device
        self._gguf: Any = gguf
        self._fields = reader.fields
        self._tensors = {tensor.name: tensor for tensor in reader.tensors}
        self.geometry = self._read_geometry()
        check_rows(self.geometry, path)

    def matrix(self, name: str) -> RawMatrix:
        """See `Weights.matrix`; a file without an output matrix shares the embedding's."""
        stored = name if f"{name}.weight" in self._tensors or name != OUTPUT else _EMBEDDING
        tensor = self._tensor(f"{stored}.weight")
        quantization = _QUANTIZATIONS.get(tensor.tensor_type.name)
        if quantization is None:
            raise MeasurementError(
                f"{self._path}: {tensor.name} is {tensor.tensor_type.name}, and the engine multiplies with "
                "Q4_K and Q6_K alone; quantize the model as Q4_K_M"
            )
        block_bytes = self._gguf.GGML_QUANT_SIZES[tensor.tensor_type][1]
        rows = torch.from_numpy(tensor.data.copy())
        return RawMatrix(quantization, rows.view(len(rows), -1, block_bytes).to(self._device))

    def norm(self, name: str) -> torch.Tensor:
        """See `Weights.norm`."""
        return self._dequantized(f"{name}.weight").to(torch.float32)

    def bias(self, name: str) -> torch.Tensor:
        """See `Weights.bias`."""
        return self._dequantized(f"{name}.bias").to(torch.float32)

    def embedding(self) -> torch.Tensor:
        """See `Weights.embedding`."""
        return self._dequantized(f"{_EMBEDDING}.weight").to(torch.float16)

    def _dequantized(self, name: str) -> torch.Tensor:
        tensor = self._tensor(name)
        values = self._gguf.dequantize(tensor.data, tensor.tensor_type)
        return torch.from_numpy(values.copy()).to(self._device)

    def _tensor(self, name: str) -> Any:
        if name not in self._tensors:
            raise MeasurementError(
                f"{self._path}: the tensor {name} is missing; expected a complete model of one file"
            )
        return self._tensors[name]

    def _read_geometry(self) -> Geometry:
        architecture = self._field("general.architecture")
        if architecture not in _INTERLEAVED:
            known = " and ".join(_INTERLEAVED)
            raise UsageError(f"{self._path}: architecture {architecture!r}; the engine runs {known}")

        def field(name: str, default: Any = None) -> Any:
            return self._field(f"{architecture}.{name}", default)

        hidden, heads = field("embedding_length"), field("attention.head_count")
        return Geometry(
            layers=field("block_count"),
            hidden=hidden,
            query_heads=heads,
            kv_heads=field("attention.head_count_kv", heads),
            head_size=field("attention.key_length", hidden // heads),
            intermediate=field("feed_forward_length"),
            vocabulary=int(self._tensor(f"{_EMBEDDING}.weight").shape[1]),
            biased="blk.0.attn_q.bias" in self._tensors,
            interleaved=_INTERLEAVED[architecture],
            rope_theta=field("rope.freq_base", 10_000.0),
            norm_epsilon=field("attention.layer_norm_rms_epsilon"),
        )

    def _field(self, name: str, default: Any = None) -> Any:
        if name in self._fields:
            return self._fields[name].contents()
        if default is None:
            raise MeasurementError(f"{self._path}: the key {name} is missing from its metadata")
        return default
