"""Corpora and file formats: language data as integers in flat arrays, encoded once, at the door.

- ``Vocab``, ``Corpus``: words and their numbers; sentences and documents of numbers;
- ``read_text``, ``iter_text``, ``write_text``: plain text, by a compiled byte scanner;
- ``Preprocessing``: what is done to the words after reading;
- ``files``: reading and writing bytes, packed or not, atomically, with errors that name file and line.
"""

from corpuscle.text.corpus import Corpus
from corpuscle.text.plain import iter_text, read_text, write_text
from corpuscle.text.preprocessing import Preprocessing
from corpuscle.text.vocab import END, FIRST, START, UNKNOWN, Vocab

__all__ = [
    "END",
    "FIRST",
    "START",
    "UNKNOWN",
    "Corpus",
    "Preprocessing",
    "Vocab",
    "iter_text",
    "read_text",
    "write_text",
]
