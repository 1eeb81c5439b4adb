"""Write a sample to a folder: a kit that ``corpuscle learn`` takes, and beside it the truth about everything in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path

from corpuscle import __version__
from corpuscle.atomic import lies_within
from corpuscle.errors import InputError
from corpuscle.samples.documents import Document
from corpuscle.samples.language import Language, Pair, generate
from corpuscle.samples.names import Name
from corpuscle.text.alignments import write_pharaoh
from corpuscle.text.brackets import write_brackets
from corpuscle.text.brat import write_brat
from corpuscle.text.columns import Columns, write_columns
from corpuscle.text.conllu import write_conllu
from corpuscle.text.files import AnyPath, reading, write_atomically
from corpuscle.text.pairs import write_pairs
from corpuscle.text.tables import write_table

MARK = "sample.json"
"""The file by which a sample is known: its seed, its sizes and the list of its files."""
UNFINISHED = MARK + ".partial"
"""Its name while the sample is being written, so that one that was interrupted can be written again."""
TAGGED = 6
"""One sentence in this number of the text's is in the treebank that goes with the kit."""
SEGMENTED = 4
"""One sentence in this number of the text's is in the truth about segmentation."""

README = Path(__file__).with_name("readme.txt")
"""What the kit says about itself, with places for its sizes."""


Writer = Callable[[Path], None]


def _lines(lines: Iterable[str]) -> Writer:
    content = "".join(f"{line}\n" for line in lines)

    def write(path: Path) -> None:
        with write_atomically(path, "wb") as file:
            file.write(content.encode())

    return write


def _text(documents: Iterable[Document]) -> Writer:
    return _lines(str(sentence) for document in documents for sentence in document.sentences)


def _names(names: Iterable[Name]) -> Writer:
    return partial(write_pairs, [(name.latin, name.other) for name in names])


def _table(rows: Iterable[tuple[str, ...]]) -> Writer:
    return partial(write_table, heading=(), rows=rows)


def _parallel(stem: str, pairs: list[Pair]) -> Iterator[tuple[str, Writer]]:
    yield f"{stem}.src", _lines(str(pair.source) for pair in pairs)
    yield f"{stem}.tgt", _lines(str(pair.target) for pair in pairs)


def tagged_documents(language: Language) -> list[Document]:
    """The documents of the text that are in the kit's treebank."""
    sizes = accumulate(len(document.sentences) for document in language.documents)
    enough = next(i for i, size in enumerate(sizes, 1) if size >= language.sizes.sentences / TAGGED)
    return language.documents[:enough]


def files(language: Language) -> Iterator[tuple[str, Writer]]:
    """The files of a kit, but for the notes: the path inside the folder, and what writes it."""
    tagged = tagged_documents(language)
    for document in language.documents:
        yield f"text/{document.label}.txt", _text([document])
    yield from _parallel("parallel/train", language.pairs)
    yield "names.tsv", _names(language.names)
    yield "glosses.tsv", _table({word.form: (word.form, word.gloss) for word in reversed(language.lexicon)}.values())
    entries = ((w.lemma, w.form, f"UPOS={w.upos}|{w.features}".removesuffix("|_")) for w in language.lexicon)
    yield "lexicon.tsv", _table(dict.fromkeys(entries))
    yield "tagged.conllu", partial(write_conllu, language.treebank(tagged))
    yield "trees.mrg", partial(write_brackets, language.trees(tagged))
    yield "noisy.txt", _lines(" ".join(message.typed) for message in language.messages)
    yield from _gold(language)
    sizes = {name: getattr(language.sizes, name) for name in ("sentences", "pairs", "names", "messages")}
    about = README.read_text(encoding="utf-8").format(
        version=__version__, seed=language.seed, other=language.other_script.name.capitalize(),
        documents=len(language.documents), tagged=sum(len(document.sentences) for document in tagged),
        notes=len(language.entities), **sizes,
    )  # fmt: skip
    yield "README.txt", _lines(about.splitlines())


def _gold(language: Language) -> Iterator[tuple[str, Writer]]:
    """The truth about the files above, and held-out parts."""
    yield "gold/alignments.txt", partial(write_pharaoh, language.alignments())
    yield "gold/topics.tsv", _table((document.label, document.topic) for document in language.documents)
    segmented = language.sentences()[: max(1, language.sizes.sentences // SEGMENTED)]
    yield "gold/unspaced.txt", _lines("".join(sentence.words) for sentence in segmented)
    yield "gold/words.txt", _lines(map(str, segmented))
    messages = language.messages
    noisy = Columns.from_sentences(
        [message.typed for message in messages],
        meant=[message.meant for message in messages],
        way=[[way or "_" for way in message.ways] for message in messages],
    )
    yield "gold/noisy.tsv", partial(write_columns, noisy)
    yield "gold/slang.tsv", _table((short, word) for word, short in language.channel.slang.items())
    marked = [(sentence.words, note.tags(i)) for note in language.entities for i, sentence in enumerate(note.sentences)]
    tags = Columns.from_sentences([words for words, _ in marked], tag=[tags for _, tags in marked])
    yield "gold/entities.bio", partial(write_columns, tags)
    yield "gold/held-out.txt", _text(language.held_out)
    yield "gold/held-out.conllu", partial(write_conllu, language.treebank(language.held_out))
    yield "gold/held-out.mrg", partial(write_brackets, language.trees(language.held_out))
    pairs = language.held_out_pairs
    yield from _parallel("gold/parallel", pairs)
    yield "gold/parallel.align", partial(write_pharaoh, language.alignments(pairs))
    yield "gold/parallel.src.conllu", partial(write_conllu, language.pair_treebank(pairs))
    yield "gold/parallel.tgt.conllu", partial(write_conllu, language.sister_treebank(pairs))
    yield "gold/names.tsv", _names(language.held_out_names)


def _clear(folder: Path) -> None:
    """Make room: an old sample goes, also one that was never finished; anything else is an error."""
    mark = next((folder / name for name in (UNFINISHED, MARK) if (folder / name).is_file()), folder / MARK)
    try:
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
        if not folder.is_dir():
            raise InputError(folder, None, "not a folder")
        if not mark.is_file():
            raise InputError(folder, None, f"the folder is not empty and holds no sample ({MARK} is not there)")
        old = json.loads(mark.read_text(encoding="utf-8"))["files"]
        if not all(lies_within(folder, name) for name in old):
            raise ValueError("a sample has no files outside its folder")
        for name in old:
            (folder / name).unlink(missing_ok=True)
        mark.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(folder, None, (error.strerror or str(error)).lower()) from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(mark, None, "this does not describe a sample") from error


def write_language(language: Language, folder: AnyPath) -> list[str]:
    """Write the kit of a language; an old sample in the folder is replaced. Returns the paths inside the folder."""
    target, planned = Path(folder), list(files(language))
    notes = (("entities", language.entities), ("gold/entities", language.held_out_entities))
    names = [MARK, *(name for name, _ in planned)]
    names += [f"{part}/{note.label}{end}" for part, several in notes for note in several for end in (".txt", ".ann")]
    sizes = {"seed": language.seed, "version": __version__, "sizes": vars(language.sizes)}
    mark = _lines(json.dumps({**sizes, "files": sorted(names)}, indent=1).splitlines())
    _clear(target)
    for name, write in [(UNFINISHED, mark), *planned]:
        path = target / name
        with reading(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        write(path)
    for part, several in notes:
        write_brat([note.document() for note in several], target / part)
    mark(target / MARK)
    (target / UNFINISHED).unlink()
    return sorted(names)


def write(folder: AnyPath, seed: int = 1, **sizes: int) -> Language:
    """Generate the language of a seed (sizes as for ``generate``) and write its kit; returns the language."""
    language = generate(seed, **sizes)
    write_language(language, folder)
    return language
