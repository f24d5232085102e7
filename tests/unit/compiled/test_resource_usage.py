from guardrail.compiled.resource_usage import parse_resource_usage

LIBRARY = b"""
Fatbin elf code:
================
arch = sm_86
code version = [1,8]
host = linux
compile_size = 64bit
compressed

Resource usage:
 Common:
  GLOBAL:28 CONSTANT[4]:224
 Function _Z7reverseILi256EEvPf:
  REG:10 STACK:16 SHARED:1024 LOCAL:0 CONSTANT[0]:360 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function scale:
  REG:8 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:360 CONSTANT[2]:8 TEXTURE:0 SURFACE:0 SAMPLER:0

Fatbin elf code:
================
arch = sm_90a

Resource usage:
 Common:
  GLOBAL:0
 Function _Z7reverseILi256EEvPf:
  REG:12 STACK:0 SHARED:2048 LOCAL:0 CONSTANT[0]:536 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function scale:
  REG:9 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:536 TEXTURE:0 SURFACE:0 SAMPLER:0
"""


def _parse(text, **options):
    options = {"demangle": str.upper, "toolchain": "cuobjdump 13.5.37"} | options
    return list(parse_resource_usage(text.splitlines(), **options))


def test_each_function_of_each_architecture_is_one_record():
    kernels = _parse(LIBRARY)
    assert [(k.name, k.symbol, k.arch, k.registers, k.stack_bytes) for k in kernels] == [
        ("_Z7REVERSEILI256EEVPF", "_Z7reverseILi256EEvPf", "sm_86", 10, 16),
        ("SCALE", "scale", "sm_86", 8, 0),
        ("_Z7REVERSEILI256EEVPF", "_Z7reverseILi256EEvPf", "sm_90a", 12, 0),
        ("SCALE", "scale", "sm_90a", 9, 0),
    ]
    assert {kernel.toolchain for kernel in kernels} == {"cuobjdump 13.5.37"}


def test_what_no_binary_holds_is_unknown():
    kernel = _parse(LIBRARY)[0]
    assert (kernel.spill_bytes, kernel.dynamic_shared_bytes, kernel.threads) == (None, None, None)
    assert (kernel.blocks_per_sm, kernel.limited_by, kernel.theoretical_occupancy) == (None, None, None)


def test_the_drivers_reservation_from_sm_90_on_is_not_the_kernels_shared_memory():
    assert [kernel.static_shared_bytes for kernel in _parse(LIBRARY)] == [1024, 0, 1024, 0]


def test_each_distinct_name_is_demangled_once():
    asked = []
    _parse(LIBRARY, demangle=lambda name: asked.append(name) or name)
    assert asked == ["_Z7reverseILi256EEvPf", "scale"]


def test_a_cubins_output_names_no_architecture():
    text = b" Function scale:\n  REG:9 STACK:0 SHARED:1536 LOCAL:0 CONSTANT[0]:536\n"
    (kernel,) = _parse(text, arch="sm_90")
    assert (kernel.arch, kernel.static_shared_bytes) == ("sm_90", 512)
