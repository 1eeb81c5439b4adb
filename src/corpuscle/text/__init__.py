"""Corpora and file formats: language data as integers in flat arrays, encoded once, at the door.

- ``Vocab``, ``Corpus``: words and their numbers; sentences and documents of numbers;
- ``read_text``, ``iter_text``, ``write_text``: plain text, by a compiled byte scanner;
- ``Preprocessing``: what is done to the words after reading;
- ``prepare``, ``restore``: running text to tokenised sentences, and exactly back;
- ``text_stats``: how much there is of a text;
- ``Treebank``: ``read_conllu``; ``Columns``: ``read_columns``, and for their tags ``spans_of_tags``, ``tags_of_spans``
  and others; both have a ``Layer`` for each annotation;
- ``Trees``: ``read_brackets``, ``parse_brackets``; ``binarise``, ``collapse_unaries`` and their inverses;
- ``Bitext``: ``read_bitext``; ``Alignments``: ``read_links``, ``read_pharaoh``, ``read_naacl``; ``AlignmentMatrix``;
- ``Standoff`` with its ``Mention``, ``Relation``, ``Attribute``: ``read_brat``, ``read_pubtator``, ``read_pipe``,
  ``read_standoff_json``; ``Normalised``, ``read_normalised``: messages and what was meant;
- ``read_vectors``, ``read_pairs``, ``read_news``, ``read_scored_pairs``: word vectors; names and their
  transliterations; similarities of words; ``read_triples``, ``read_judgements``: human judgements on words and phrases;
- ``Interlinear``: glossed texts, ``read_eaf``, ``read_flextext``, ``read_toolbox``, ``write_interlinear``;
- for every ``read_...`` that has one, a ``write_...``;
- ``files``: reading and writing bytes, packed or not, atomically, with errors that name file and line.
"""

from typing import TYPE_CHECKING

from corpuscle.lazy import contents

if TYPE_CHECKING:
    from corpuscle.text.alignments import (
        AlignmentMatrix,
        Alignments,
        read_links,
        read_naacl,
        read_pharaoh,
        write_naacl,
        write_pharaoh,
    )
    from corpuscle.text.bitext import Bitext, read_bitext, write_bitext
    from corpuscle.text.brackets import format_brackets, parse_brackets, read_brackets, write_brackets
    from corpuscle.text.brat import read_brat, write_brat
    from corpuscle.text.columns import (
        Columns,
        Normalised,
        read_columns,
        read_normalised,
        write_columns,
        write_normalised,
    )
    from corpuscle.text.conllu import read_conllu, write_conllu
    from corpuscle.text.corpus import Corpus, Preprocessing, text_stats
    from corpuscle.text.interlinear import Interlinear, read_eaf, read_flextext, read_toolbox, write_interlinear
    from corpuscle.text.layers import Layer
    from corpuscle.text.mention_tags import (
        TokenMention,
        convert_tags,
        mentions_of_tags,
        spans_of_tags,
        tags_of_mentions,
        tags_of_spans,
    )
    from corpuscle.text.pairs import (
        Judgement,
        Pair,
        Phrase,
        ScoredPair,
        Term,
        Triple,
        parse_phrase,
        phrase_of,
        read_judgements,
        read_news,
        read_pairs,
        read_scored_pairs,
        read_triples,
        write_pairs,
    )
    from corpuscle.text.plain import iter_text, read_strings, read_text, warm, write_text
    from corpuscle.text.running import Prepared, prepare, restore
    from corpuscle.text.standoff import (
        Attribute,
        Mention,
        Relation,
        Standoff,
        read_pipe,
        read_pubtator,
        read_standoff_json,
        write_pipe,
        write_pubtator,
        write_standoff_json,
    )
    from corpuscle.text.tables import read_table, write_table
    from corpuscle.text.treebank import Treebank
    from corpuscle.text.trees import Trees, binarise, collapse_unaries, expand_unaries, unbinarise
    from corpuscle.text.vocab import END, FIRST, START, UNKNOWN, Vocab, read_vectors, write_vectors
    from corpuscle.text.xml import read_tmx, read_xml

__all__, __getattr__, __dir__ = contents(__name__, __file__)
