"""The command line: each module parses the arguments of one task, calls the floor below and shows the result."""
