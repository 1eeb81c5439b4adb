"""Eight treebanks of constituents as the benchmarks read them: how their tags are mapped to the twelve
universal tags (patterns as ``corpuscle.grammar`` reads them), and what stands in their labels that is no tag.

Petrov, Das and McDonald, "A universal part-of-speech tagset", 2012, for the idea; the patterns were written from the
documentation of the treebanks and from their tags.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from corpuscle.text import Trees, read_brackets

__all__ = ["TAGSETS", "read_treebank", "write_tag_map"]

_PENN = {
    "VERB": "VB VBD VBP VBZ MD",
    "VERB nonfinite": "VBG VBN",
    "NOUN": "NN NNS NNP NNPS",
    "PRON": "PRP PRP$ WP WP$ EX",
    "ADJ": "JJ JJR JJS AFX",
    "ADV": "RB RBR RBS WRB",
    "ADP": "IN",
    "CONJ": "CC",
    "DET": "DT PDT WDT",
    "NUM": "CD",
    "PRT": "POS RP TO",
    "X": "FW UH LS GW SYM $ #",
    ".": ". , : `` '' -LRB- -RRB- HYPH",
}
_SPANISH = {  # EAGLES: the first letter is the part of speech, the third of a verb its mood
    "VERB": "v*",
    "VERB nonfinite": "vmp* vsp* vap* vmn* vsn* van* vmg* vsg* vag*",
    "NOUN": "n* W* Zm* Zp*",
    "PRON": "p*",
    "ADJ": "a*",
    "ADV": "r*",
    "ADP": "s*",
    "CONJ": "c*",
    "DET": "d*",
    "NUM": "Z",
    "X": "i I* X*",
    ".": "F*",
}
_PORTUGUESE = {  # the form stands behind the function and a plus sign
    "VERB": "v-fin",
    "VERB nonfinite": "v-pcp v-inf v-ger",
    "NOUN": "n prop prop'",
    "PRON": "pron-indp pron-pers",
    "ADJ": "adj",
    "ADV": "adv",
    "ADP": "prp pp",
    "CONJ": "conj-c conj-s",
    "DET": "art pron-det",
    "NUM": "num",
    "X": "in ec ?",
    ".": "PUNCT",
}
_CHINESE = {  # CKIP; roles behind a hyphen
    "VERB": "V*",
    "NOUN": "N*",
    "PRON": "Nh* Nep*",
    "ADJ": "A",
    "ADV": "D*",
    "ADP": "P* Ng*",
    "CONJ": "C*",
    "DET": "Nes* Neqa*",
    "NUM": "Neu* DM*",
    "PRT": "DE* Di* T*",
    "X": "I* S* F*",
}
_ICELANDIC = {  # the first letters are the part of speech; I and S behind P and D are finite moods
    "VERB": "VBP* VBD* VBI BEP* BED* BEI BEBI HVP* HVD* HVI DOP* DOD* DOI RDP* RDD* RDI MDP* MDD* VDDI",
    "VERB nonfinite": "VB VBN* VAN* VAG* BE BEN* BAN* BAG* HV HVN* HAN* HAG* DO DON* DAN* DAG* RD RDN* RAN* RAG* MD "
    "MDN*",
    "NOUN": "N-* NS-* NPR* N2*",
    "PRON": "PRO* WPRO* MAN* ES",
    "ADJ": "ADJ* SUCH*",
    "ADV": "ADV* WADV* NEG ALSO FP*",
    "ADP": "P RP*",
    "CONJ": "CONJ* C",
    "DET": "D-* D+* Q* WD* WQ* ONE* OTHER*",
    "NUM": "NUM*",
    "PRT": "TO",
    "X": "FW INTJ X* NP-SBJ LB",
    ".": '. , " \' - :',
}
_DUTCH = {
    "VERB": "verb",
    "NOUN": "noun name",
    "PRON": "pron",
    "ADJ": "adj",
    "ADV": "adv",
    "ADP": "prep pp comparative",
    "CONJ": "vg comp",
    "DET": "det",
    "NUM": "num",
    "PRT": "part",
    "X": "fixed tag",
    ".": "punct",
}


def _patterns(table: dict[str, str]) -> Iterator[tuple[str, str, bool]]:
    for target, names in table.items():
        for name in names.split():
            yield name, target.split()[0], "nonfinite" not in target


TAGSETS = {
    "ptb-sample": tuple(_patterns(_PENN)),
    "gum-const": tuple(_patterns(_PENN)),
    "craft-const": tuple(_patterns(_PENN)),
    "cess-esp": tuple(_patterns(_SPANISH)),
    "floresta-pt": tuple(_patterns(_PORTUGUESE)),
    "sinica-zh": tuple(_patterns(_CHINESE)),
    "icepahc-is": tuple(_patterns(_ICELANDIC)),
    "alpino-nl": tuple(_patterns(_DUTCH)),
}
"""Treebank -> (pattern, universal tag, whether a verb is finite)."""


def write_tag_map(name: str, path: Path) -> None:
    """The map of a treebank as a file that ``--tag-map`` reads."""
    lines = (f"{pattern}\t{tag}" + ("" if finite else "\tnonfinite") for pattern, tag, finite in TAGSETS[name])
    path.write_text("".join(line + "\n" for line in lines))


def read_treebank(path: Path) -> Trees:
    """Trees without traces, whose tags are bare: of ``FUNCTION+form`` the form, of ``category-role`` the category."""
    name = path.parent.name
    trees = read_brackets(path, keep_traces=False, keep_functions=name in ("floresta-pt", "icepahc-is"))
    if name == "floresta-pt":
        return trees.relabel(lambda label: label.rpartition("+")[2] or label)
    return trees.relabel(lambda label: label.partition("-")[0] or label) if name == "sinica-zh" else trees
