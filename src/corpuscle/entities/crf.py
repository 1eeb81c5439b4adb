"""CrfTagger: mentions, also with gaps and shared words, by a linear-chain conditional random field.

Mentions become tags (``text.gapped``), tokens become features (``features``), weights are learned by likelihood
(``learning``) and applied in compiled code (``kernels.fields``). Tags that do not fit together are read all the same.
Where a text has many mentions in two pieces, a second stage finds more of them (``discontinuous``).

Lafferty, McCallum and Pereira, "Conditional random fields: probabilistic models for segmenting and labeling sequence
data", 2001; Parikh, Avinesh, Mustafi, Agarwalla and Mungi, "ThinkMiners: disorder recognition using conditional random
fields and distributional semantics", 2014.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from corpuscle import model as container
from corpuscle.entities.base import EntityTagger, Guess, Tagged
from corpuscle.entities.dictionary import DICTIONARY, Dictionary
from corpuscle.entities.discontinuous import FEWEST, PAIRING, PIECES, ChainOutput, Pairing, Part, Pieces, with_pieces
from corpuscle.entities.documents import Documents
from corpuscle.entities.features import NC_ARRAYS, NcValues, Sheet, cross_fitted, document_features, parts_of
from corpuscle.entities.inspection import Feature, heaviest_features
from corpuscle.entities.kernels.fields import Field, k_best_tags, likely_tags, tag_tokens
from corpuscle.entities.learning import learn_field, steps_of
from corpuscle.entities.settings import CrfSettings
from corpuscle.errors import warn
from corpuscle.hashing import hashes_of
from corpuscle.model import Array, vocab_arrays
from corpuscle.random import folds
from corpuscle.scale import chunks_of
from corpuscle.settings import learned
from corpuscle.text.heldout import item_hashes
from corpuscle.text.mention_tags import (
    POLICIES,
    TokenMention,
    mentions_of_tags,
    tags_of_mentions,
    with_ends,
    without_ends,
)  # fmt: skip
from corpuscle.text.vocab import FIRST, Vocab
from corpuscle.words import SOURCES, WordFeatures

_CHUNK = 20_000  # a worker tags about this number of tokens at a time
_FEWEST_TYPE = 5
_FEWEST_DOCUMENTS = 5  # sections that fewer documents have are all "other"
_FEWEST_AMBIGUOUS = 20  # a classifier of pairs is tried where at least this number of sentences have several pieces
FIELD = {
    "field/keys": Array("uint64", ("features",)),
    "field/starts": Array("int64", ("features+1",), offsets_into="weights"),
    "field/labels": Array("int32", ("weights",), low=0, high="types"),
    "field/weights": Array("float64", ("weights",), finite=True),
    "field/steps": Array("float64", ("types", "types"), finite=True),
}


class CrfTagger(CrfSettings, EntityTagger):
    """A tagger of mentions.

    Learned: ``labels_``, a ``Vocab`` of tags; ``field_``, the weights; ``policy_``: how pieces are joined, ``pairing_``
    if by a classifier; ``pieces_``: what finds mentions in two pieces that tags miss, or None; ``first_``: the tagger
    of the first of two passes, or None; ``nc_``, ``dictionary_``, ``sources_``: what its features need, or None;
    ``sections_``: uint64, hashes of the sections it knows; ``heaviest_``: the heaviest features of each label.
    """

    KIND: ClassVar[container.Kind] = container.Kind(
        "entities.crf", 2,
        lambda extra: {
            **container.VOCAB, **container.ITEMS, **FIELD, **SOURCES, **PAIRING,
            **({} if extra.get("nc") is not True else NC_ARRAYS), **(PIECES if extra.get("pieces") is True else {}),
            **(vocab_arrays("entries/types/", "entry_kinds") | DICTIONARY if extra.get("dictionary") is True else {}),
            **vocab_arrays("heaviest/", "heaviest"),
            "heaviest/weights": Array("float64", ("heaviest",), finite=True),
            "heaviest/labels": Array("int32", ("heaviest",), low=0, high="types"),
            "sections": Array("uint64", ("sections",), rising=True),
        },
        components=lambda extra: {"first": (CrfTagger.KIND,)} if extra.get("passes") == 2 else {},
        check=lambda loaded: _check(loaded),
    )  # fmt: skip

    SAVED: ClassVar = {
        "labels_": container.Record(Vocab),
        "_field": container.Record(Field),
        "policy_": container.Fact("policy"),
        "sources_": container.Record(WordFeatures),
        "sections_": container.Arrays("sections"),
        "pieces_": container.Record(Pieces),
        "nc_": container.Record(NcValues, "nc/"),
        "dictionary_": container.Record(Dictionary, "entries/types/"),
        "first_": container.Inner("first", "corpuscle.entities:CrfTagger"),
    }
    HAS_FEATURES = True

    labels_: Vocab = learned()
    policy_: str = learned()
    pairing_: Pairing | None = learned()
    pieces_: Pieces | None = learned()
    first_: CrfTagger | None = learned()
    nc_: NcValues | None = learned()
    dictionary_: Dictionary | None = learned()
    sources_: WordFeatures = learned()
    sections_: np.ndarray = learned()
    heaviest_: list[Feature] = learned()
    _field: Field = learned()

    def fit(
        self, documents: Documents, *, sources: WordFeatures | None = None, dictionary: Dictionary | None = None
    ) -> CrfTagger:
        """Learn from documents with mentions; ``sources``: classes or clusters of words, ``dictionary``: entries."""
        if not any(documents.mentions):
            raise documents.error("there are no mentions to learn from")
        self.chosen_, self.sources_, self.dictionary_ = {}, sources or WordFeatures.none(), dictionary
        # Sections that enough documents have are kept.
        document = np.repeat(documents.document_of, documents.corpus.lengths)
        pairs = np.unique(np.column_stack([documents.sections.ids, document]), axis=0)[:, 0]
        ids, n_documents = np.unique(pairs, return_counts=True)
        names = [documents.sections.values[i] for i in ids[n_documents >= _FEWEST_DOCUMENTS].tolist()]
        self.sections_ = np.sort(hashes_of(names))
        documents = self._known(documents)
        encoded = [
            tags_of_mentions(mentions, n, self.encoding)
            for mentions, n in zip(documents.mentions, documents.corpus.lengths.tolist(), strict=True)
        ]
        tags = [tag for sentence in encoded for tag in with_ends(sentence.tags)]
        labels = ["O", *sorted(set(tags) - {"O"})]
        counts = Counter(tags)
        self.labels_ = Vocab.from_words(labels, [counts[label] for label in labels])
        tagged = bool(documents.tags.ids.any())
        self.nc_, levels = None, None
        if self.nc != "none" and tagged:
            self.nc_ = NcValues.learn(documents, self.nc)
            levels = cross_fitted(documents, self.nc, self.seed)
        elif self.origins["nc"] == "given" and self.nc != "none":
            raise documents.error("the words have no tags: NC-values need them")
        self._learn_policy(documents)
        sheet = Sheet.of(documents, self, self.sources_, dictionary, levels, self._learn_across(documents))
        self._field, iterations = learn_field(sheet, tags, labels, self)
        self.heaviest_ = heaviest_features(sheet, documents, self._field, labels)
        self._describe(documents, encoded, iterations, sheet)
        return self

    def _learn_across(self, documents: Documents) -> dict[str, np.ndarray]:
        """Learn what needs taggers of other parts of the text: the first of two passes, and what finds mentions in two
        pieces. Taggers of parts take half of the iterations. Returns what a first pass tells of words elsewhere in the
        training text."""
        self.first_, self.pieces_ = None, None
        part = parts_of(documents, self.seed)
        pieces = self.gaps == "learned"
        if self.gaps == "auto":  # where there are enough of them, and parts to learn from
            in_two = sum(len(each.runs) == 2 for some in documents.mentions for each in some)
            pieces = self.encoding != "bio" and in_two >= FEWEST and part.max() > 0
        if self.passes == 1 and not pieces:
            return {}
        if part.max() == 0:
            what = "two passes need" if self.passes == 2 else "a classifier of pieces needs"
            raise documents.error(f"{what} several documents, or sentences: they learn from each other")
        algorithm, most = steps_of(self, len(documents.corpus))

        def learned_from(some: Documents, iterations: int) -> CrfTagger:
            learner = self.replace(passes=1, gaps="none", algorithm=algorithm, iterations=iterations)
            return learner.fit(some, sources=self.sources_, dictionary=self.dictionary_)

        document = np.repeat(documents.document_of, documents.corpus.lengths)
        tags, parts = np.full(documents.corpus.n_tokens, "O", object), []
        for fold in range(part.max() + 1):
            others, held = (np.flatnonzero(chosen) for chosen in (part != fold, part == fold))
            rest = documents.select(others)
            if any(rest.mentions):
                own = documents.select(held)
                tagger = learned_from(rest, max(1, most // 2))
                output = tagger._chain_output(*tagger._labelled(tagger.tokens_of(own), likely=True), self.types)
                tags[part[document] == fold] = output.tags
                parts.append(Part(held, output, self._joined(own, output.tags)))
        if pieces and (found := Pieces.learn(documents, parts, self.types)) is not None:
            # Tags alone may do better where the classifier has not seen the text.
            classifier, gain = found
            self.pieces_ = classifier if self.gaps == "learned" or gain > 0 else None
            self.chosen_["gaps"] = "none" if self.pieces_ is None else "learned"
        if self.passes == 1:
            return {}
        self.first_ = learned_from(documents, most)
        return document_features(documents, tags.tolist())

    def _describe(self, documents: Documents, encoded: Sequence[Any], iterations: int, sheet: Sheet) -> None:
        """What the file says of its training text, and warnings about it."""
        types = Counter(mention.type for mentions in documents.mentions for mention in mentions)
        rare = [type for type, count in sorted(types.items()) if count < _FEWEST_TYPE]
        if rare:
            warn(f"seen fewer than {_FEWEST_TYPE} times: {', '.join(rare[:10])}")
        back = sum(
            len(set(self._join(list(words), sentence.tags)) & set(mentions))
            for words, sentence, mentions in zip(documents.corpus, encoded, documents.mentions, strict=True)
        )
        n = sum(types.values())
        self.provenance_ = {
            "documents": len(documents), "sentences": len(documents.corpus), "words": documents.corpus.n_tokens,
            "mentions": n, "types": len(types), "lost": documents.lost + n - back, "expressible": back / max(1, n),
            "features": len(self._field.keys), "weights": len(self._field.weights),
            "templates": len(sheet.templates), "iterations": iterations,
            "nc": self.nc if self.nc_ is not None else "none",
        }  # fmt: skip
        self.items_ = item_hashes(documents.corpus)

    # ---- what is known of tokens

    def _known(self, documents: Documents) -> Documents:
        """With the sections that the model does not know as "other"."""
        known = set(self.sections_.tolist())
        sections = documents.sections.map(lambda name: name if int(hashes_of([name])[0]) in known else "other")
        return dataclasses.replace(documents, sections=sections)

    # ---- joining pieces

    def _join(self, words: Sequence[str], tags: Sequence[str]) -> list[TokenMention]:
        if self.pairing_ is not None and any(tag[0] in "DH" for tag in tags):
            return self.pairing_.join(words, tags)
        return mentions_of_tags(tags, self.policy_)

    def _joined(self, documents: Documents, tags: Sequence[str]) -> list[list[TokenMention]]:
        """The mentions of each sentence that the tags of all tokens mean."""
        mentions: list[list[TokenMention]] = []
        for i, (first, last) in enumerate(pairwise(documents.corpus.sentence_starts.tolist())):
            own = tags[first:last]
            mentions.append(self._join(documents.corpus.words(i), own) if any(tag != "O" for tag in own) else [])
        return mentions

    def _learn_policy(self, documents: Documents) -> None:
        """Choose how pieces are joined: by the rule that brings back more training mentions, or by a classifier that
        does better than it on sentences that it has not seen."""
        self.pairing_, self.policy_ = None, "merge"
        if self.encoding == "bio":
            return
        if self.policy in POLICIES:
            self.policy_ = self.policy
            return
        sentences = list(zip(map(list, documents.corpus), documents.mentions, strict=True))
        tags = [tags_of_mentions(mentions, len(words)).tags for words, mentions in sentences]
        several = [i for i, each in enumerate(tags) if sum(tag[:2] in ("DB", "HB") for tag in each) > 1]

        def right(joined: Sequence[Sequence[TokenMention]]) -> float:
            good = sum(len(set(found) & set(sentences[i][1])) for i, found in zip(several, joined, strict=True))
            n = sum(len(found) + len(sentences[i][1]) for i, found in zip(several, joined, strict=True))
            return 2 * good / max(1, n)

        figures = {policy: right([mentions_of_tags(tags[i], policy) for i in several]) for policy in POLICIES}
        self.policy_ = max(POLICIES, key=lambda policy: figures[policy])
        if self.policy == "learned" or len(several) >= _FEWEST_AMBIGUOUS:
            part = folds(self.seed, "entities.pairing", len(several), 5)
            joined: list[list[TokenMention]] = [[] for _ in several]
            for fold in range(5):
                others = Pairing.learn([sentences[several[k]] for k in np.flatnonzero(part != fold).tolist()])
                for k in np.flatnonzero(part == fold).tolist():
                    if others is not None:
                        joined[k] = others.join(sentences[several[k]][0], tags[several[k]])
            if self.policy == "learned" or right(joined) > figures[self.policy_]:
                self.pairing_ = Pairing.learn([sentences[i] for i in several])
        self.chosen_["policy"] = "learned" if self.pairing_ is not None else self.policy_

    # ---- tagging

    @property
    def types(self) -> list[str]:
        return sorted({label.partition("-")[2] for label in self.labels_.strings[FIRST:] if label != "O"})

    def _chain_output(self, ids: np.ndarray, shares: np.ndarray, types: Sequence[str]) -> ChainOutput:
        """What labels and the probabilities of all say, for these types."""
        labels = self.labels_.strings[FIRST:]
        members = np.zeros((len(labels), len(types) + 1))  # which belong to each type, and to complex mentions
        for k, label in enumerate(labels):
            if label != "O":
                members[k, types.index(label.partition("-")[2])] = 1.0
                members[k, -1] = label[0] in "DH"
        return ChainOutput(self._tags(ids), shares @ members)

    def _tags(self, ids: np.ndarray) -> list[str]:
        names = [without_ends(label) for label in self.labels_.strings[FIRST:]]
        return [names[k] for k in ids.tolist()]

    def _labelled(self, sheet: Sheet, likely: bool) -> tuple[np.ndarray, np.ndarray]:
        """The best label of each token, and, if asked for, the probabilities of all, float64 (n_tokens, labels)."""
        bounds = pairwise(chunks_of(np.diff(sheet.tokens.starts) + 1, _CHUNK).tolist())
        parts = list(self.spread(_tag_chunk, [(sheet.tokens, *each, likely) for each in bounds]))
        ids = np.concatenate([np.zeros(0, np.int32), *(part[0] for part in parts)])
        return ids, np.concatenate([np.zeros((0, len(self._field.steps))), *(part[1] for part in parts)])

    def tokens_of(self, documents: Documents) -> Sheet:
        """The tokens of documents with all that the tagger knows of them."""
        documents = self._known(documents)
        if self.nc_ is not None and not documents.tags.ids.any() and documents.corpus.n_tokens:
            warn("the words have no tags, which this tagger learned from: features of tags are off")
        levels = None if self.nc_ is None else self.nc_.classes(documents, self.nc)
        first_pass = {}
        if self.first_ is not None:
            self.first_.workers, self.first_.cluster = self.workers, self.cluster
            first_pass = document_features(documents, self.first_.best_tags(documents))
        return Sheet.of(documents, self, self.sources_, self.dictionary_, levels, first_pass)

    def best_tags(self, documents: Documents) -> list[str]:
        return self._tags(self._labelled(self.tokens_of(documents), likely=False)[0])

    def tag(self, documents: Documents) -> Tagged:
        """The mentions in documents, each with the product of the probabilities of its tags; where it was found in two
        pieces, with its own."""
        ids, shares = self._labelled(self.tokens_of(documents), likely=True)
        sure = shares[np.arange(len(ids)), ids]
        mentions, confidence, by_token = [], [], []
        joined, pieces = self._joined(documents, self._tags(ids)), self._pieces(documents, ids, shares)
        bounds = pairwise(documents.corpus.sentence_starts.tolist())
        for (first, last), found, more in zip(bounds, joined, pieces, strict=True):
            found = with_pieces(found, more) if more else found
            mentions.append(found)
            confidence.append([more.get(each, float(np.prod(sure[first + np.array(each.tokens)]))) for each in found])
            by_token.append(sure[first:last])
        return Tagged(mentions, confidence, by_token)

    def _pieces(self, documents: Documents, ids: np.ndarray, shares: np.ndarray) -> list[dict[TokenMention, float]]:
        """The mentions in two pieces that each sentence has beside those of its tags, and how likely each is."""
        if self.pieces_ is None:
            return [{} for _ in range(len(documents.corpus))]
        return self.pieces_.find(documents, self._chain_output(ids, shares, self.types), self.types)

    def guesses(self, documents: Documents, nbest: int) -> list[list[Guess]]:
        """For each sentence, what its ``nbest`` best labellings say: sets of mentions, the likeliest first. Labellings
        that say the same are one guess."""
        sheet, guesses = self.tokens_of(documents), []
        pieces = self._pieces(documents, *self._labelled(sheet, likely=True))
        for i in range(len(documents.corpus)):
            words = documents.corpus.words(i)
            paths, scores = np.zeros((nbest, len(words)), np.int32), np.zeros(nbest)
            shares = np.zeros((len(words), len(self._field.steps)))
            total = likely_tags(sheet.tokens, self._field, i, i + 1, shares)
            found = k_best_tags(sheet.tokens, self._field, i, paths, scores) if words else 1
            likely: dict[tuple[TokenMention, ...], float] = {}
            for path, score in zip(paths[:found], scores[:found].tolist(), strict=True):
                mentions = tuple(with_pieces(self._join(words, self._tags(path)), pieces[i]))
                likely[mentions] = likely.get(mentions, 0.0) + math.exp(min(0.0, score - total))
            order = sorted(likely.items(), key=lambda item: -item[1])
            guesses.append([Guess(mentions, min(1.0, share)) for mentions, share in order])
        return guesses

    # ---- files

    def _arrays(self) -> Mapping[str, np.ndarray]:
        names = [f"{each.label}: {each.feature}" for each in self.heaviest_]
        pairing = {} if self.pairing_ is None else {"pairing": self.pairing_.weights}
        return {
            **super()._arrays(), **pairing, **Vocab.from_words(names).arrays("heaviest/"),
            "heaviest/weights": np.array([each.weight for each in self.heaviest_], np.float64),
            "heaviest/labels": np.array([self.labels_.id(each.label) - FIRST for each in self.heaviest_], np.int32),
        }  # fmt: skip

    def _extra(self) -> Mapping[str, Any]:
        return {
            **super()._extra(), "nc": self.nc_ is not None, "dictionary": self.dictionary_ is not None,
            "passes": self.passes, "pieces": self.pieces_ is not None,
        }  # fmt: skip

    def _restore(self, loaded: container.Container) -> None:
        super()._restore(loaded)
        arrays = loaded.arrays
        self.pairing_ = Pairing(arrays["pairing"]) if "pairing" in arrays else None
        names = Vocab.from_arrays(arrays, "heaviest/").strings[FIRST:]
        labels = self.labels_.decode(arrays["heaviest/labels"] + FIRST)
        self.heaviest_ = [
            Feature(label, name.removeprefix(f"{label}: "), weight)
            for label, name, weight in zip(labels, names, arrays["heaviest/weights"].tolist(), strict=True)
        ]


def _tag_chunk(chunk: tuple[Any, int, int, bool], tagger: CrfTagger) -> tuple[np.ndarray, np.ndarray]:
    """The best labels of the tokens of some sentences, and, if asked for, the probabilities of all labels."""
    tokens, begin, end, likely = chunk
    n = int(tokens.starts[end] - tokens.starts[begin])
    labels, shares = np.zeros(n, np.int32), np.zeros((n if likely else 0, len(tagger._field.steps)))
    tag_tokens(tokens, tagger._field, begin, end, labels)
    if likely:
        likely_tags(tokens, tagger._field, begin, end, shares)
    return labels, shares


def _check(loaded: container.Container) -> None:
    extra = loaded.extra
    if extra.get("policy") not in POLICIES:
        raise ValueError("it does not say how pieces are joined")
    if any(type(extra.get(name)) is not bool for name in ("nc", "dictionary", "pieces")):
        raise ValueError("it does not say which features it has")
    passes = CrfTagger.restored(loaded.described).passes
    if extra.get("passes", 1) != passes or (passes == 2 and loaded.component("first").extra.get("passes", 1) != 1):
        raise ValueError("its passes do not fit each other")
    labels = Vocab.from_arrays(loaded.arrays).strings[FIRST:]
    if "O" not in labels:
        raise ValueError("it has no tag O")
    for tag in labels:
        mentions_of_tags([without_ends(tag)])
