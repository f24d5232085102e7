import pytest

from guardrail.compiled.ptxas_log import Spills, parse_ptxas_log

LOG = """\
{tool} info    : 0 bytes gmem
{tool} info    : Compiling entry function '_Z7reverseILi256EEvPf' for 'sm_90'
{tool} info    : Function properties for _Z7reverseILi256EEvPf
    240 bytes stack frame, 424 bytes spill stores, 428 bytes spill loads
{tool} info    : Used 40 registers, used 1 barriers, 240 bytes cumulative stack size, 1024 bytes smem
{tool} info    : Compile time = 2.439 ms
{tool} info    : Compiling entry function 'scale' for 'sm_90'
{tool} info    : Function properties for scale
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
{tool} info    : Used 8 registers, used 0 barriers
"""


@pytest.mark.parametrize("tool", ["ptxas", "ptxas-blackwell"])
def test_spills_of_several_functions_are_read_under_any_name_of_the_tool(tool):
    assert parse_ptxas_log(LOG.format(tool=tool)) == {
        "_Z7reverseILi256EEvPf": Spills(store_bytes=424, load_bytes=428),
        "scale": Spills(store_bytes=0, load_bytes=0),
    }


def test_nvrtc_prefixes_the_figures_with_the_tool():
    log = (
        "ptxas info    : Function properties for accumulate\n"
        "ptxas         .     240 bytes stack frame, 424 bytes spill stores, 424 bytes spill loads\n"
    )
    assert parse_ptxas_log(log) == {"accumulate": Spills(store_bytes=424, load_bytes=424)}


def test_figures_without_a_function_are_no_function():
    assert parse_ptxas_log("    0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n") == {}
    assert parse_ptxas_log("") == {}
