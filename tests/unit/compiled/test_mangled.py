from guardrail.compiled.mangled import abbreviate, restore


def test_each_identifier_becomes_one_character_and_repeats_share_it():
    short, identifiers = abbreviate("_ZN4vllm6kernelIN4vllm4HalfELi128EEEvPT_")
    assert short == "_ZN1\x801\x81IN1\x801\x82ELi128EEEvPT_"
    assert identifiers == {"\x80": "vllm", "\x81": "kernel", "\x82": "Half"}


def test_numbers_that_are_no_lengths_stay():
    for mangled in ("_Z1fILi12345678901EEvv", "_Z1fILin4EEvv", "_Z1fIS12_EvT3_", "_Z1fILN1a4ModeE2EEvv"):
        short, identifiers = abbreviate(mangled)
        for placeholder, identifier in identifiers.items():
            short = short.replace(f"1{placeholder}", f"{len(identifier)}{identifier}")
        assert short == mangled
        assert set(identifiers.values()) <= {"f", "a", "Mode"}


def test_identifiers_come_back():
    assert restore("void \x80::\x81<int>", {"\x80": "vllm", "\x81": "kernel"}) == "void vllm::kernel<int>"


def test_an_anonymous_namespace_is_named_as_the_runtime_names_it():
    assert (
        restore("\x80::f", {"\x80": "_GLOBAL__N__49227196_8_kernel_cu_1f3c75c5"})
        == "(anonymous namespace)::f"
    )
