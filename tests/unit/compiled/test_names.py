import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardrail.compiled.names import shorten

MARLIN = (
    "void marlin::Marlin<1125899906909960l, 2814749767172868l, 256, 3, 16, 4, false>"
    "(int4 const*, int4*, float*)"
)
NESTED = (
    "void cutlass::device_kernel<cutlass::gemm::GemmUniversal<cute::tuple<int, int>, cute::C<128> > >"
    "(cutlass::gemm::GemmUniversal<cute::tuple<int, int>, cute::C<128> >::Params)"
)


@pytest.mark.parametrize(
    ("name", "width", "short"),
    [
        ("scale", 20, "scale"),
        ("scale [aligned]", 20, "scale [aligned]"),
        ("void reverse<256>(float*)", 40, "reverse<256>"),
        ("vllm::copy(float*, int)", 40, "vllm::copy"),
        ("void (anonymous namespace)::signal<3>(long const*)", 40, "signal<3>"),
        (MARLIN, 100, "marlin::Marlin<1125899906909960l, 2814749767172868l, 256, 3, 16, 4, false>"),
        (MARLIN, 44, "marlin::Marlin<11258999069099… 16, 4, false>"),
        (NESTED, 60, "cutlass::device_kernel<cutlass::gemm::GemmUniversal<cu…> > >"),
        (NESTED, 30, "device_kernel<cutlass…sal<…> >"),
        ("_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalI", 60, "cutlass::device_kernel<…>"),
    ],
)
def test_a_name_is_cut_where_it_says_least(name, width, short):
    assert shorten(name, width) == short


@given(st.text(alphabet="ab:<>(), -*_ZN1{}[]…", max_size=60), st.integers(min_value=1, max_value=40))
def test_any_text_fits(name, width):
    assert len(shorten(name, width)) <= width


@given(st.text(alphabet="abc_", min_size=1, max_size=20))
def test_a_plain_name_that_fits_stays(name):
    assert shorten(name, 20) == name
