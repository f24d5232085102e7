"""The command line: each command parses, calls the application, renders and exits."""
