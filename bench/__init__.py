"""Benchmarks: Corpuscle beside the tool that a user would pick instead, on the same input, in the same run."""
