"""Model files: one file a model, safe to load, the same bytes for the same model.

- ``Model`` is the base of all learners;
- ``Kind`` and ``Array`` declare what a kind of model consists of; every array is checked before a kernel sees it;
- ``Arrays``, ``Record``, ``Samples``, ``Fact``, ``Inner`` declare how what a model has learned stands in its file;
- ``save``, ``read`` and ``load`` write and read models, ``read_header`` only looks, but at the checksum too;
- ``prefixed`` and ``numbered`` put arrays under prefixes, ``stripped`` and ``separated`` take them from there.

A model file is a safetensors file. Its metadata has one string, ``corpuscle``: a small JSON header with the kind of
model, versions, settings with their origin, preprocessing, provenance and a checksum of the whole file.
"""

from corpuscle.model.base import Model
from corpuscle.model.container import Place
from corpuscle.model.kinds import ITEMS, TRAINING_ITEMS, VOCAB, Array, Kind, vocab_arrays
from corpuscle.model.saved import Arrays, Fact, Inner, Record, Samples
from corpuscle.model.store import (
    Container,
    Part,
    load,
    numbered,
    prefixed,
    read,
    read_header,
    save,
    separated,
    source_date,
    stripped,
)

__all__ = [
    "ITEMS", "TRAINING_ITEMS", "VOCAB", "Array", "Arrays", "Container", "Fact", "Inner", "Kind", "Model", "Part",
    "Place", "Record", "Samples", "load", "numbered", "prefixed", "read", "read_header", "save", "separated",
    "source_date", "stripped", "vocab_arrays",
]  # fmt: skip
