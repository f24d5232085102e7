"""Run the command line as ``python -m guardrail``."""

from guardrail.cli.main import main

if __name__ == "__main__":
    main()
