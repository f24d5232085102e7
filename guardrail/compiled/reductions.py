"""Reductions of a kernel as Triton's GPU dialect (TTGIR) states them."""

import re
from dataclasses import dataclass

_ALIAS = re.compile(r"^(#\w+) = (#ttg\..*)$", re.MULTILINE)
_REDUCE = re.compile(
    r'"tt\.reduce"\([^)]*\) <\{axis = (?P<axis>\d+) : i32\}> '
    r"\(\{(?P<body>.*?)\}\) : \((?P<operands>.*?)\) ->",
    re.DOTALL,
)
_OPERATION = re.compile(r"= \"?([a-z_]+\.[a-z_]\w*)")
_SHAPE = re.compile(r"tensor<((?:\d+x)+)([a-z]\w*)")
_FLOATS = ("f", "bf", "tf")


@dataclass(frozen=True, slots=True)
class Reduction:
    """One reduction of a kernel."""

    axis: int
    operations: tuple[str, ...]
    """What combines two elements: ``("arith.addf",)``."""
    shape: tuple[int, ...]
    element: str
    """``"f32"``."""
    layout: str
    """Operands with their layout, spelt out: which thread holds which element."""

    @property
    def extent(self) -> int:
        """Give the number of elements that are combined into one."""
        return self.shape[self.axis]

    @property
    def is_rounded(self) -> bool:
        """Say whether the result depends on the order: integers are exact, and so is a largest number."""
        return self.element.startswith(_FLOATS) and any(
            name in ("arith.addf", "arith.mulf") for name in self.operations
        )


def parse_reductions(ttgir: str) -> list[Reduction]:
    """Find every reduction of a module, in program order.

    Args:
        ttgir: Text of the module.
    """
    layouts = dict(_ALIAS.findall(ttgir))
    return [_parse(found, layouts) for found in _REDUCE.finditer(ttgir)]


def _parse(found: re.Match[str], layouts: dict[str, str]) -> Reduction:
    operands = found["operands"]
    shape = _SHAPE.search(operands)
    dimensions, element = (shape[1], shape[2]) if shape else ("", "")
    return Reduction(
        axis=int(found["axis"]),
        operations=tuple(_OPERATION.findall(found["body"])),
        shape=tuple(int(extent) for extent in dimensions.split("x") if extent),
        element=element,
        layout=re.sub(r"#\w+\b(?!\.)", lambda alias: layouts.get(alias[0], alias[0]), operands),
    )
