"""Small models are fastest on one thread."""

from contextlib import suppress

with suppress(ImportError):
    import torch

    torch.set_num_threads(1)
