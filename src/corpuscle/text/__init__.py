"""Corpora and file formats: language data as integers in flat arrays, encoded once, at the door.

- ``Vocab``, ``Corpus``: words and their numbers; sentences and documents of numbers;
- ``read_text``, ``iter_text``, ``write_text``: plain text, by a compiled byte scanner;
- ``Preprocessing``: what is done to the words after reading;
- ``prepare``, ``restore``: running text to tokenised sentences, and exactly back;
- ``text_stats``: how much there is of a text;
- ``files``: reading and writing bytes, packed or not, atomically, with errors that name file and line.
"""

from corpuscle.text.corpus import Corpus
from corpuscle.text.plain import iter_text, read_text, warm, write_text
from corpuscle.text.preprocessing import Preprocessing
from corpuscle.text.running import Prepared, prepare, restore
from corpuscle.text.stats import text_stats
from corpuscle.text.vocab import END, FIRST, START, UNKNOWN, Vocab

__all__ = [
    "END",
    "FIRST",
    "START",
    "UNKNOWN",
    "Corpus",
    "Prepared",
    "Preprocessing",
    "Vocab",
    "iter_text",
    "prepare",
    "read_text",
    "restore",
    "text_stats",
    "warm",
    "write_text",
]
