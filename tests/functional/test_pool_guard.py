import pytest

GUARDS = """
version: 1
guards:
  - id: pool
    title: the pool is what it was planned to be
    probe: pool
    subject: int4_attention.{pool}
    models: [qwen3.8-27b, qwen3.8-27b-dflash2]
    devices: [{device}]
    max_num_seqs: [4, 32]
    require:
      pool_bytes: {{ceiling: {ceiling}}}
      unprofiled_bytes: {{equals: 0}}
      sets: {{equals: 2}}
      eligible_2d: {{equals: 0}}
"""
CEILING = 473_432_064


@pytest.fixture
def guards(folder):
    def write(pool="pool", device="h200", ceiling=CEILING):
        path = folder / "guards.yaml"
        path.write_text(GUARDS.format(pool=pool, device=device, ceiling=ceiling))

    return write


def test_our_pool_holds_its_ceiling_and_its_controls_do_not(guardrail, guards):
    guards()
    assert guardrail("check").returncode == 0
    assert guardrail("check", "--self-test").returncode == 0


def test_a_pool_above_its_ceiling_fails_for_the_start_that_is(guardrail, guards):
    guards("seed_pool", ceiling=CEILING - 1)
    found = guardrail("check")
    assert found.returncode == 1
    assert "pool_bytes (h200, 32) is 473432064 bytes, must be at most 473432063" in found.stdout
    assert "(h200, 4)" not in found.stdout


def test_an_unknown_device_is_a_fault_with_its_line(guardrail, guards):
    guards(device="h20")
    found = guardrail("check")
    assert found.returncode == 2
    assert "guards.yaml:9: devices: no device profile is named 'h20'; did you mean 'h200'?" in found.stderr


def test_a_saved_run_is_refused_where_the_device_s_profile_has_changed(guardrail, guards, folder):
    profile = folder / "profiles" / "devices" / "mine.yaml"
    profile.parent.mkdir(parents=True)
    text = (
        "name: mine\ntitle: Mine\ndevice_name: Mine\narch: sm_90\nsm_count: {}\nl2_bytes: 1\n"
        "dram_bytes_per_second: 1\nmemory_bytes: 1\n"
    )
    profile.write_text(text.format(100))
    guards(device="mine")
    assert guardrail("check", "--format", "json", "--output", "run.json").returncode == 0
    assert guardrail("check", "--from", "run.json").returncode == 0
    profile.write_text(text.format(101))
    assert guardrail("check", "--from", "run.json").returncode == 3
