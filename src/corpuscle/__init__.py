"""Corpuscle learns language technology from small corpora.

The floors, from the ground up (a module imports only from floors below its own):

- the ground: ``catalogue`` (every task, said once), ``settings``, ``learning``, ``model``, ``scale`` and smaller ones;
- ``text``: corpora and file formats;
- ``engine``: the mathematics that several tasks share, compiled, arrays in and arrays out;
- ``measure``, ``figures``: evaluation and pictures;
- the tasks of the catalogue, each with its ``kernels``;
- ``samples``: a generated language whose truth is known;
- ``packs``: everything that can be learned from one folder;
- ``web``: the workbench in the browser;
- ``cli``: the command line.
"""

__version__ = "0.1.0"

__all__ = ["__version__", "load"]


def load(path):
    """Load any model file; the class follows from the kind that is written in its header."""
    from corpuscle.model import load as load_model

    return load_model(path)
