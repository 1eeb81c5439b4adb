"""Benchmarks: Corpuscle beside the tool that a user would pick instead, on the same input, in the same run."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as for the command; its sums depend on it in their last bits
