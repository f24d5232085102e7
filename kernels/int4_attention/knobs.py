"""The environment variables that the family reads."""

MULTI_QUERY = "GUARDRAIL_INT4_MULTI_QUERY"
