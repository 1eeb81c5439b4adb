"""What a step works with: the kit, the pack's folder, and the text, read and split once for all steps."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from corpuscle.errors import InputError
from corpuscle.packs.heldout import Split, held_sentences, split
from corpuscle.packs.kit import Kit, shown_name
from corpuscle.packs.step import LeftOut, check_enough, wrong_files
from corpuscle.text import read_conllu, read_text
from corpuscle.text.corpus import Corpus
from corpuscle.text.files import read_blocks, read_lines
from corpuscle.text.stats import characters_of_types
from corpuscle.text.tables import read_table
from corpuscle.text.treebank import Treebank
from corpuscle.text.vocab import FIRST

__all__ = ["FEWEST_SPACES", "SEGMENTED", "Job"]

FEWEST_SENTENCES = 20
"""With fewer, a tenth held out says nothing."""

FEWEST_SPACES = 0.02
"""A text with a smaller share of spaces among its characters is taken to be written without them."""

_SPACES = " \t\n\v\f\r"

SEGMENTED = "segmented.txt"
"""Where the segmenter writes the words of such a text, in the pack."""


class Job:
    """Kit, folder of the pack, seed and workers of a run, and what its steps share.

    ``crew``: the settings of learners that say who works, ``workers`` and ``cluster``; ``work``: with the seed.
    """

    def __init__(self, kit: Kit, pack: Path, seed: int, workers: int | None, cluster: str | None = None):
        self.kit, self.pack, self.seed = kit, pack, seed
        self.crew: dict[str, Any] = {"workers": workers, "cluster": cluster}
        self.work: dict[str, Any] = {"seed": seed, **self.crew}
        self._hashes: dict[str, dict[str, str]] = {}

    def __repr__(self) -> str:
        """Which kit becomes which pack."""
        return f"<Job: a pack {self.pack} of {self.kit!r}>"

    def hashes(self, roles: tuple[str, ...]) -> dict[str, str]:
        """A hash of the content of every file of some roles; each file is read once a run."""
        for role in roles:
            if role not in self._hashes:
                self._hashes[role] = self.kit.hashes([role])
        return {name: digest for role in roles for name, digest in self._hashes[role].items()}

    def fit(self, model: Any, *material: Any, name: str, save: bool = False) -> Any:
        """Fit a model to its material and return it; ``save`` also writes it, to ``name`` in the pack.

        Unfinished work on that file goes on, unless it was done on other data or by another rule.
        """
        path = self.pack / name
        partial = path.with_name(path.name + ".partial")
        checkpoint = None
        if partial.exists():
            try:
                checkpoint = model.checkpoint(*material, path, True)
            except InputError:
                partial.unlink()
        if checkpoint is None:
            checkpoint = model.checkpoint(*material, path, False)
        with checkpoint:
            model.fit(*material, checkpoint=checkpoint)
            if save:
                model.save(path)
        return model

    @cached_property
    def raw(self) -> Corpus:
        """The running text as it is written: every file begins a document, and so does every empty line."""
        corpus, folder = read_text(*self.kit.paths("text"), blank="document"), self.kit.folder / "text"
        filled = int((corpus.lengths > 0).sum())
        check_enough(folder, filled, FEWEST_SENTENCES, "sentence of text", "sentences of text")
        if len(corpus.vocab) == FIRST:
            raise LeftOut(folder, None, "no words, only the mark of unknown ones")
        return corpus

    def check_text(self) -> list[InputError]:
        """What is wrong with the files of running text: the first error of each."""
        wrong = wrong_files(lambda: self.raw, [()])
        return wrong and wrong_files(read_text, [(path,) for path in self.kit.paths("text")])

    @cached_property
    def letters(self) -> int:
        """How many characters the words of the text have."""
        return int(characters_of_types(self.raw.vocab) @ self.raw.vocab.counts[FIRST:])

    @property
    def share_of_spaces(self) -> float:
        """How many of the characters of the text stand between two words."""
        spaces = self.raw.n_tokens - len(self.raw)
        return spaces / max(1, spaces + self.letters)

    @cached_property
    def glosses(self) -> dict[str, str]:
        """Words and what they mean, as the kit says."""
        path = self.pack / "glosses.tsv"
        return {row[0]: row[1] for _, row in read_table(path)} if path.is_file() else {}

    @property
    def unspaced(self) -> bool:
        """Whether the words of the text are still to be found."""
        return self.share_of_spaces < FEWEST_SPACES

    @cached_property
    def text(self) -> Corpus:
        """The text in words: as it is written, or as the segmenter has split it if it is written without spaces."""
        path = self.pack / SEGMENTED
        return read_text(path, blank="document") if self.unspaced and path.is_file() else self.raw

    def document_names(self) -> list[str]:
        """The documents of the text by file, with the line where each begins if there are several in the file."""
        names: list[str] = []
        for path in self.kit.paths("text"):
            lines, name = [block[0][0] for block in read_blocks(path, _SPACES)], shown_name(path)
            names += [name] if len(lines) == 1 else [f"{name}:{line}" for line in lines]
        return names

    @cached_property
    def split(self) -> Split:
        """The text without a seeded tenth, and that tenth."""
        return split(self.text, self.seed)

    @cached_property
    def trees(self) -> Treebank:
        """The annotated sentences."""
        return read_conllu(self.kit.paths("tagged")[0])

    @cached_property
    def split_trees(self) -> tuple[Treebank, Treebank]:
        """The annotated sentences without a seeded tenth, and that tenth."""
        held, _ = held_sentences(self.trees.corpus, self.seed)
        return self.trees.select(~held), self.trees.select(held)

    def place(self, sentence: int) -> tuple[str | None, int | None]:
        """File and line of a sentence of the text, for errors."""
        for path in self.kit.paths("text"):
            for line, content in read_lines(path):
                if content.strip(_SPACES):
                    if sentence == 0:
                        return path, line
                    sentence -= 1
        return None, None
