from guardrail import catalog, registry


def test_subjects_come_with_kind_probes_and_controls():
    rows = {row[0]: row[1:] for row in catalog.subjects()}
    assert rows["q6k.mmvq"][:2] == ("gate", "dispatch")
    assert rows["q6k.matvec"][:2] == ("operation", "numerics, timing")
    assert rows["int4_attention.scratch"][:2] == ("plan", "capacity")
    assert rows["q6k.mmvq_v2"][:2] == ("kernel", "resources")
    assert "no-upper-bound" in rows["q6k.mmvq"][2].split(", ")
    assert rows["q6k.mmvq_twins"] == ("twins", "reduction_layouts", "plain-sum")


def test_metrics_come_with_probe_unit_and_meaning():
    rows = list(catalog.metrics())
    assert ("capacity", "row_bytes", "bytes", "Size of one row of the buffer, for each model.") in rows
    # A command guard names its metrics itself.
    assert {row[0] for row in rows} == set(registry.probes()) - {"command"}


def test_profiles_are_the_shipped_ones_and_those_beside_the_guards_file(tmp_path):
    own = tmp_path / "profiles" / "models"
    own.mkdir(parents=True)
    (own / "tiny.yaml").write_text("name: tiny\nquery_heads: 4\nkv_heads: 2\nhead_size: 8\n")
    rows = list(catalog.profiles(tmp_path / "guards.yaml"))
    assert ("device", "h200", "NVIDIA H200: sm_90, 132 SMs") in rows
    assert ("model", "tiny", "4 query heads, 2 KV heads, head size 8") in rows


def test_both_file_formats_have_a_schema():
    schemas = catalog.schemas()
    assert {name: schema["title"] for name, schema in schemas.items()} == {
        "guards": "guardrail guards file",
        "report": "guardrail report",
    }
