from guardrail.compiled.reductions import Reduction, parse_reductions

MODULE = """\
#blocked = #ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [1, 32], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], order = [0]}>
#loc = loc("kernel.py":1:0)
module attributes {"ttg.num-warps" = 4 : i32} {
    %dot = "tt.reduce"(%products) <{axis = 2 : i32}> ({
    ^bb0(%a: i32 loc(#loc), %b: i32 loc(#loc)):
      %c = arith.addi %a, %b : i32 loc(#loc)
      tt.reduce.return %c : i32 loc(#loc)
    }) : (tensor<1x256x4xi32, #blocked1>) -> tensor<1x256xi32, #blocked1> loc(#loc)
    %sum = "tt.reduce"(%total) <{axis = 1 : i32}> ({
    ^bb0(%a: f32 loc(#loc), %b: f32 loc(#loc)):
      %c = arith.addf %a, %b : f32 loc(#loc)
      tt.reduce.return %c : f32 loc(#loc)
    }) : (tensor<1x256xf32, #ttg.slice<{dim = 2, parent = #blocked}>>) -> tensor<1xf32, #blocked1> loc(#loc)
    %largest = "tt.reduce"(%total) <{axis = 1 : i32}> ({
    ^bb0(%a: f32 loc(#loc), %b: f32 loc(#loc)):
      %c = arith.maxnumf %a, %b : f32 loc(#loc)
      tt.reduce.return %c : f32 loc(#loc)
    }) : (tensor<1x2xf32, #blocked>) -> tensor<1xf32, #blocked1> loc(#loc)
}
"""
BLOCKED = "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [1, 32], order = [1, 0]}>"


def test_every_reduction_is_read_with_its_layout_spelt_out():
    dot, total, largest = parse_reductions(MODULE)
    assert (dot.axis, dot.operations, dot.shape, dot.element) == (2, ("arith.addi",), (1, 256, 4), "i32")
    assert total == Reduction(
        1,
        ("arith.addf",),
        (1, 256),
        "f32",
        f"tensor<1x256xf32, #ttg.slice<{{dim = 2, parent = {BLOCKED}}}>>",
    )
    assert [found.extent for found in (dot, total, largest)] == [4, 256, 2]
    assert largest.layout == f"tensor<1x2xf32, {BLOCKED}>"


def test_only_sums_of_floating_point_numbers_are_rounded():
    assert [found.is_rounded for found in parse_reductions(MODULE)] == [False, True, False]


def test_a_module_without_reductions_has_none():
    assert parse_reductions("module {}") == []
