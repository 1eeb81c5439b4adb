"""How a language says what is meant: a constituent grammar with heads, with the order of words as parameters.

``Grammar.sentence`` turns a meaning into a tree of ``Phrase`` and ``Leaf``. Every phrase names the child that is its
head, and every child says by which relation it depends on that head: so the constituent tree and the dependency tree
come from the same derivation. Trees are projective. Agreement is carried from the thing meant to every word that shows
it, however far away: the verb agrees with its subject across a relative clause, the relative pronoun with its
antecedent, the predicate with the subject.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from corpuscle.random import Random
from corpuscle.samples.lexicon import UNINFLECTED, Lexicon, Word
from corpuscle.samples.meaning import Event, Thing

DETERMINER, NUMERAL, CONJUNCTION, ADPOSITION, NEGATION, ADVERB, MARK, COMMA, PARTICLE, INTENSITY = range(1, 11)
"""Slots: the parts of a thing's or an event's meaning that have a word of their own; 0 is the head itself."""
SLOTS = 16
UNLINKED = -1
"""The meaning of a word that only this language has a use for."""


class Leaf:
    """A word in a tree.

    ``meaning``: which part of the meaning it expresses; a translation expresses the same. ``sure``: whether it
    expresses it by itself, or only helps to.
    """

    __slots__ = ("form", "meaning", "relation", "sure", "word")

    def __init__(self, word: Word, relation: str, meaning: int, sure: bool = True):
        self.word, self.form, self.relation, self.meaning, self.sure = word, word.form, relation, meaning, sure


@dataclass(slots=True, eq=False)
class Phrase:
    """A constituent: a label, children, and which of them is the head."""

    label: str
    children: list[Leaf | Phrase]
    head: int
    relation: str

    def before(self, *children: Leaf | Phrase) -> None:
        """Add children in front."""
        self.children[:0] = children
        self.head += len(children)


def leaves(tree: Leaf | Phrase) -> list[Leaf]:
    """The words of a tree, from left to right."""
    found: list[Leaf] = []
    stack: list[Leaf | Phrase] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, Leaf):
            found.append(node)
        else:
            stack.extend(reversed(node.children))
    return found


def dependencies(tree: Phrase) -> tuple[list[int], list[str]]:
    """The head of every word (counted from 1, 0 for the root) and its relation, read off the constituents.

    The head word of a phrase is the head word of its head child; every other child's head word depends on it.
    """
    heads: list[int] = []
    relations: list[str] = []

    def visit(node: Leaf | Phrase) -> int:
        if isinstance(node, Leaf):
            heads.append(0)
            relations.append(node.relation)
            return len(heads) - 1
        tops = [visit(child) for child in node.children]
        top = tops[node.head]
        for child, dependent in zip(node.children, tops, strict=True):
            if dependent != top:
                heads[dependent] = top + 1
                relations[dependent] = child.relation
        return top

    relations[visit(tree)] = "root"
    return heads, relations


@dataclass(frozen=True)
class Grammar:
    """The grammar of one language: a lexicon and the order of words.

    ``order`` is SVO, SOV or VSO. In VSO there is no verb phrase apart from the clause.
    """

    lexicon: Lexicon
    order: str
    adjective_first: bool
    genitive_first: bool
    prepositions: bool
    articles: bool
    copula: bool
    """Is there a copula in the present tense?"""
    drop: bool
    """May subject pronouns be left out?"""
    negation_first: bool
    question_first: bool
    asking_first: bool
    """Do question words stand first?"""
    marks_objects: bool
    """Does a definite object take an adposition, which has no counterpart elsewhere?"""
    splits: bool
    """Are compounds and diminutives written as two words?"""
    phrasal: dict[str, Word] = field(default_factory=dict)
    """Verbs that consist of a verb and a particle."""
    punctuation: dict[str, Word] = field(
        default_factory=lambda: {mark: Word(mark, mark, "PUNCT", "_", "", mark) for mark in ".,?!"}
    )

    @classmethod
    def drawn(cls, random: Random, lexicon: Lexicon, order: str, **fixed: bool) -> Grammar:
        """A grammar with the parameters drawn at random that are not given."""
        verb_last = order == "SOV"
        names = ("adjective_first", "genitive_first", "negation_first", "question_first", "asking_first")
        drawn = {name: random.uniform() < 0.5 for name in names}
        drawn["prepositions"] = (random.uniform() < 0.1) == verb_last
        return cls(lexicon, order, **(drawn | {"splits": False, "drop": False, "marks_objects": False} | fixed))  # type: ignore[arg-type]

    def agreement(self, thing: Thing) -> tuple[str, str, str]:
        """Person, number and gender that a thing imposes on words that agree with it."""
        genders = self.lexicon.morphology.genders
        if thing.name is not None:
            gender = genders[thing.name.gender % len(genders)] if genders else ""
        elif thing.key and thing.kind != "asking":
            gender = self.lexicon.gender(thing.key)
        else:
            gender = genders[0] if genders else ""
        if not thing.also:
            return thing.person, thing.number, gender
        same = all(self.agreement(other)[2] == gender for other in thing.also)
        return thing.person, "Plur", gender if same or not genders else genders[0]

    def noun_phrase(self, thing: Thing, case: str, relation: str) -> Phrase:
        """A thing as a phrase, with its modifiers and coordinations."""
        phrase = self._simple(thing, case, relation)
        if not thing.also or thing.kind == "pronoun":
            return phrase
        phrase.relation = ""
        members: list[Leaf | Phrase] = [phrase]
        for position, other in enumerate(thing.also):
            member = self._simple(other, case, "conj")
            if position == len(thing.also) - 1:
                member.before(self._particle("and", "cc", other.id, CONJUNCTION))
            else:
                member.before(self._mark(",", other.id))
            members.append(member)
        return Phrase("NP", members, 0, relation)

    def _particle(self, key: str, relation: str, id: int, slot: int) -> Leaf:
        return Leaf(self.lexicon.particle(key, UNINFLECTED[key]), relation, id * SLOTS + slot)

    def _mark(self, mark: str, id: int) -> Leaf:
        return Leaf(self.punctuation[mark], "punct", id * SLOTS + COMMA)

    def _simple(self, thing: Thing, case: str, relation: str) -> Phrase:
        meaning = thing.id * SLOTS
        if thing.kind == "noun":
            return self._noun(thing, case, relation)
        if thing.kind == "name":
            assert thing.name is not None
            gender = self.agreement(thing)[2]
            words = thing.name.words(self.lexicon.script, gender)
            parts: list[Leaf | Phrase] = [Leaf(words[0], relation, meaning)]
            parts += [Leaf(word, "flat", meaning + slot) for slot, word in enumerate(words[1:], 1)]
            return Phrase("NP", parts, 0, relation)
        if thing.kind == "asking":
            label = "ADVP" if thing.key == "where" else "NP"
            return Phrase(label, [Leaf(self.lexicon.asking(thing.key, case), relation, meaning)], 0, relation)
        person, number, gender = self.agreement(thing)
        return Phrase("NP", [Leaf(self.lexicon.pronoun(person, number, gender, case), relation, meaning)], 0, relation)

    def _noun(self, thing: Thing, case: str, relation: str) -> Phrase:
        lexicon, meaning = self.lexicon, thing.id * SLOTS
        number, gender = thing.number, lexicon.gender(thing.key)
        if number not in lexicon.morphology.numbers:
            number = "Plur"
        modifiers: list[Leaf | Phrase] = []
        key = thing.key
        if self.splits and key.endswith("~"):
            key = key[:-1]
            small = Leaf(lexicon.agreeing("small.a", "ADJ", gender, number), "amod", meaning)
            modifiers.append(Phrase("ADJP", [small], 0, "amod"))
        compound: list[Leaf | Phrase] = []
        if self.splits and "+" in key:
            first, key = key.split("+")
            compound.append(Leaf(lexicon.noun(first, "Sing", "Nom"), "compound", meaning))
        for position, (adjective, id) in enumerate(thing.adjectives):
            leaf = Leaf(lexicon.agreeing(adjective, "ADJ", gender, number), "amod", id * SLOTS)
            phrase = Phrase("ADJP", [leaf], 0, "amod")
            if thing.adjectives_joined and position:
                phrase.before(self._particle("and", "cc", id, CONJUNCTION))
                phrase.relation = "conj"
                modifiers[-1] = Phrase("ADJP", [modifiers[-1], phrase], 0, "amod")
            else:
                modifiers.append(phrase)
        noun = Leaf(lexicon.noun(key, number, case), relation, meaning)
        # Compound parts stand next to their noun, on the side where its genitives do.
        core = [*compound, noun] if self.genitive_first else [noun, *compound]
        if self.adjective_first:
            children, head = [*modifiers, *core], len(modifiers) + core.index(noun)
        else:
            children, head = [*core, *modifiers], core.index(noun)
        phrase = Phrase("NP", children, head, relation)
        if thing.possessor is not None:
            possessor = self.noun_phrase(thing.possessor, "Gen", "nmod")
            if not lexicon.morphology.cases:
                of = Leaf(lexicon.particle("of", "ADP"), "case", thing.possessor.id * SLOTS, sure=False)
                possessor = self._adposition(of, possessor, "nmod")
            if self.genitive_first:
                phrase.before(possessor)
            else:
                phrase.children.append(possessor)
        if thing.numeral:
            phrase.before(Leaf(lexicon.numeral(thing.numeral), "nummod", meaning + NUMERAL))
        if thing.determiner and (self.articles or thing.determiner == "this"):
            word = lexicon.agreeing(thing.determiner, "DET", gender, number)
            phrase.before(Leaf(word, "det", meaning + DETERMINER))
        if thing.relative is not None:
            phrase.children.append(self._relative(thing, thing.relative))
        return phrase

    def _relative(self, thing: Thing, event: Event) -> Phrase:
        case, relation = ("Nom", "nsubj") if event.gap == "subject" else ("Acc", "obj")
        number, gender = thing.number, self.lexicon.gender(thing.key)
        pronoun = Leaf(self.lexicon.relative(gender, number, case), relation, event.id * SLOTS + MARK)
        agreement = ("3", number, gender) if event.gap == "subject" else None
        clause = self.clause(event, "", agreement)
        return Phrase("SBAR", [Phrase("NP", [pronoun], 0, relation), clause], 1, "acl:relcl")

    def _adposition(self, adposition: Leaf, phrase: Phrase, relation: str) -> Phrase:
        phrase.relation = relation
        if self.prepositions:
            return Phrase("PP", [adposition, phrase], 1, relation)
        return Phrase("PP", [phrase, adposition], 0, relation)

    def _oblique(self, adposition: str, thing: Thing) -> Phrase:
        if not adposition:
            return self.noun_phrase(thing, "", "advmod")
        leaf = Leaf(self.lexicon.particle(adposition, "ADP"), "case", thing.id * SLOTS + ADPOSITION)
        return self._adposition(leaf, self.noun_phrase(thing, "Dat", "obl"), "obl")

    def _verb(self, event: Event, agreement: tuple[str, str, str], finite: bool) -> list[Leaf | Phrase]:
        """The words of the predicate verb; the verb itself is first in the list, then what goes with it."""
        lexicon, meaning = self.lexicon, event.id * SLOTS
        person, number, _ = agreement
        group: list[Leaf | Phrase]
        if not finite:
            group = [Leaf(lexicon.infinitive(event.verb), "", meaning)]
        elif event.mood == "order":
            group = [Leaf(lexicon.order(event.verb, number), "", meaning)]
        elif event.tense not in lexicon.morphology.tense:
            auxiliary = Leaf(lexicon.particle("FUT", "AUX"), "aux", meaning, sure=False)
            group = [Leaf(lexicon.infinitive(event.verb), "", meaning), auxiliary]
        else:
            group = [Leaf(lexicon.verb(event.verb, event.tense, person, number), "", meaning)]
        if event.verb in self.phrasal:
            group.append(Leaf(self.phrasal[event.verb], "compound:prt", meaning))
        return group

    def _predicate(self, event: Event, agreement: tuple[str, str, str], finite: bool) -> list[Leaf | Phrase]:
        """Verb, negation and auxiliary in their order, or the words of a copular predicate."""
        meaning = event.id * SLOTS
        verb_last = self.order == "SOV"
        before: list[Leaf | Phrase] = []
        after: list[Leaf | Phrase] = []
        if event.predicate is not None:
            core: Leaf | Phrase = self._complement_of_be(event, agreement)
            if self.copula or event.tense != "Pres":
                for copula in self._verb(event, agreement, True):
                    assert isinstance(copula, Leaf)
                    if copula.relation != "aux":
                        copula.relation = "cop"
                    (after if verb_last else before).insert(0, copula)
        else:
            group = self._verb(event, agreement, finite)
            core = group[0]
            for leaf in group[1:]:
                leads = leaf.relation == "aux" and not verb_last
                (before if leads else after).append(leaf)
        if event.negated:
            negation = self._particle("not", "advmod", event.id, NEGATION)
            if self.negation_first:
                before.insert(0, negation)
            else:
                after.append(negation)
        if event.adverb:
            adverb = Leaf(self.lexicon.particle(event.adverb, "ADV"), "advmod", meaning + ADVERB)
            if verb_last:
                before.insert(0, Phrase("ADVP", [adverb], 0, "advmod"))
            else:
                after.append(Phrase("ADVP", [adverb], 0, "advmod"))
        core.relation = "head"
        return [*before, core, *after]

    def _complement_of_be(self, event: Event, agreement: tuple[str, str, str]) -> Phrase:
        _, number, gender = agreement
        if isinstance(event.predicate, Thing):
            return self.noun_phrase(event.predicate, "Nom", "head")
        assert event.predicate is not None
        key, id = event.predicate
        adjective = Leaf(self.lexicon.agreeing(key, "ADJ", gender, number), "head", id * SLOTS)
        phrase = Phrase("ADJP", [adjective], 0, "head")
        if event.intensified:
            phrase.before(self._particle("very", "advmod", event.id, INTENSITY))
        return phrase

    def clause(
        self, event: Event, relation: str, agreement: tuple[str, str, str] | None = None, finite: bool = True
    ) -> Phrase:
        """An event as a clause; ``agreement`` stands in for a subject that is expressed elsewhere."""
        subject = event.subject
        if agreement is None:
            agreement = self.agreement(subject) if subject is not None else ("3", "Sing", "")
        predicate = self._predicate(event, agreement, finite)
        head = next(child for child in predicate if child.relation == "head")
        arguments: list[Leaf | Phrase] = []
        first: list[Leaf | Phrase] = []
        if event.recipient is not None:
            recipient = self.noun_phrase(event.recipient, "Dat", "iobj")
            if not self.lexicon.morphology.cases:
                to = Leaf(self.lexicon.particle("to", "ADP"), "case", event.recipient.id * SLOTS, sure=False)
                recipient = self._adposition(to, recipient, "iobj")
            arguments.append(recipient)
        if event.object is not None and event.gap != "object":
            phrase = self.noun_phrase(event.object, "Acc", "obj")
            if self.marks_objects and event.object.determiner in ("the", "this"):
                marker = Leaf(self.lexicon.particle("OBJ", "ADP"), "case", UNLINKED)
                phrase = self._adposition(marker, phrase, "obj")
            (first if event.asked == "object" and self.asking_first else arguments).append(phrase)
        obliques: list[Leaf | Phrase] = [self._oblique(*oblique) for oblique in event.obliques]
        if event.fronted or (event.asked == "place" and self.asking_first):
            first.append(obliques.pop())
        last: list[Leaf | Phrase] = []
        if event.complement is not None:
            last.append(self._complement(event, event.complement, agreement))
        before: list[Leaf | Phrase] = []
        # An identifier is as good as chance, and saying a meaning needs no random stream.
        dropped = self.drop and subject is not None and subject.kind == "pronoun" and subject.id % 8 < 5
        if subject is not None and event.mood != "order" and not dropped:
            before.append(self.noun_phrase(subject, "Nom", "nsubj"))
        if self.order == "VSO":  # with a copula: copula, subject, predicate
            place = len(predicate) if event.predicate is None else predicate.index(head)
            children = [*predicate[:place], *before, *predicate[place:], *arguments, *obliques, *last]
        else:
            inside = [*obliques, *arguments, *predicate, *last]
            if self.order == "SVO":
                inside = [*predicate, *arguments, *obliques, *last]
            verb_phrase = Phrase("VP", inside, inside.index(head), "head")
            children, head = [*before, verb_phrase], verb_phrase
        children = [*first, *children]
        clause = Phrase("S" if finite else "VP", children, children.index(head), relation)
        if not finite and len(children) == 1 and isinstance(head, Phrase):
            head.relation = relation
            return head
        return clause

    def _complement(self, event: Event, complement: Event, agreement: tuple[str, str, str]) -> Phrase:
        if event.frame == "x":
            return self.clause(complement, "xcomp", agreement, finite=False)
        that = self._particle("that", "mark", complement.id, MARK)
        return Phrase("SBAR", [that, self.clause(complement, "")], 1, "ccomp")

    def sentence(self, event: Event) -> Phrase:
        """A whole sentence: clauses joined, question particle, punctuation, first capital."""
        tree = self.clause(event, "")
        if event.mood == "ask" and not event.asked:
            particle = self._particle("Q", "discourse", event.id, PARTICLE)
            if self.question_first:
                tree.before(particle)
            else:
                tree.children.append(particle)
        if event.circumstance is not None:
            key, other = event.circumstance
            mark = self._particle(key, "mark", other.id, MARK)
            subordinate = Phrase("SBAR", [mark, self.clause(other, "")], 1, "advcl")
            if other.id % 2:  # which order was meant: the same in both languages
                tree = Phrase("S", [subordinate, self._mark(",", other.id), tree], 2, "")
            else:
                tree = Phrase("S", [tree, subordinate], 0, "")
        if event.also is not None:
            key, other = event.also
            added = self.clause(other, "conj")
            added.before(self._mark(",", other.id), self._particle(key, "cc", other.id, CONJUNCTION))
            tree = Phrase("S", [tree, added], 0, "")
        stop = {"tell": ".", "ask": "?", "order": "!"}[event.mood]
        tree.children.append(Leaf(self.punctuation[stop], "punct", 0))
        node: Leaf | Phrase = tree
        while isinstance(node, Phrase):
            node = node.children[0]
        node.form = self.lexicon.script.capitalise(node.form)
        return tree
