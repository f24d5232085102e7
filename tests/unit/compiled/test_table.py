import io

from rich.console import Console

from guardrail.compiled.diff import compare
from guardrail.compiled.table import print_comparison, print_kernels
from helpers.compiled_kernels import foreign_kernel, kernel


def _lines(print_it, *arguments, width=100):
    console = Console(width=width, record=True, file=io.StringIO())
    print_it(*arguments[:1], console, *arguments[1:])
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_a_known_kernel_shows_every_figure():
    record = kernel(
        "scale [aligned]", registers=40, stack_bytes=240, spill_store_bytes=424, spill_load_bytes=428
    )
    assert _lines(print_kernels, [record]) == [
        "1 kernel, nvcc 13.0.88",
        "name             arch   regs  stack  spill st/ld  shared  threads  blocks/SM  limited by",
        "scale [aligned]  sm_90    40    240      424/428       0      256          6  regs",
    ]


def test_columns_that_nobody_fills_are_left_out():
    assert _lines(print_kernels, [foreign_kernel(), foreign_kernel("other", registers=8)]) == [
        "2 kernels, cuobjdump 13.5.37",
        "name   arch   regs  stack  shared",
        "scale  sm_90    32      0       0",
        "other  sm_90     8      0       0",
    ]


def test_rows_are_capped_and_the_rest_is_counted():
    lines = _lines(print_kernels, [foreign_kernel()] * 53)
    assert len(lines) == 53
    assert lines[-1] == "3 more, --all shows them"
    assert len(_lines(print_kernels, [foreign_kernel()] * 53, None)) == 55


def test_long_names_leave_room_for_the_figures_at_100_columns():
    name = f"void cutlass::device_kernel<{', '.join(['cute::C<128>'] * 40)}>(int*)"
    lines = _lines(print_kernels, [kernel(name)])
    assert max(map(len, lines)) <= 100
    assert lines[2].startswith("device_kernel<")
    assert lines[2].endswith("regs, warps")


def test_a_comparison_counts_and_shows_what_got_worse():
    old = [kernel("a"), kernel("b", registers=40), kernel("gone")]
    new = [kernel("a", registers=74, toolchain="nvcc 13.1.80"), kernel("b"), kernel("fresh")]
    lines = _lines(print_comparison, compare(old, new))
    assert lines == [
        "1 worse, 1 better, 0 unchanged, 1 added, 1 removed",
        "nvcc 13.0.88 → nvcc 13.0.88; nvcc 13.1.80",
        "",
        "worse:",
        "name  arch      regs  stack  spill st/ld  shared  threads  blocks/SM  limited by",
        "a     sm_90  32 → 74      0          0/0       0      256      8 → 3  regs, warps → regs",
    ]


def test_all_of_a_comparison_lists_better_added_and_removed_too():
    old = [kernel("b", registers=40), kernel("gone")]
    new = [kernel("b"), kernel("fresh")]
    lines = _lines(print_comparison, compare(old, new), None)
    assert [line for line in lines if line.endswith(":")] == ["better:", "added:", "removed:"]
    assert [line.split()[0] for line in lines if "sm_90" in line] == ["b", "fresh", "gone"]


def test_a_narrow_terminal_cuts_names_and_never_figures():
    record = kernel("scale_and_rotate [aligned]", registers=40, stack_bytes=240, spill_store_bytes=424)
    assert _lines(print_kernels, [record], width=80) == [
        "1 kernel, nvcc 13.0.88",
        "                                      spill                              limited",
        "name              arch   regs  stack  st/ld  shared  threads  blocks/SM  by",
        "scale_an…ligned]  sm_90    40    240  424/0       0      256          6  regs",
    ]
