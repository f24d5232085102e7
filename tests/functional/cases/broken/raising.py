raise SystemExit("this module must not end guardrail")
