"""Translation memories (TMX) as parallel text."""

from __future__ import annotations

import pytest

from corpuscle.cli.main import main
from corpuscle.errors import InputError, SettingError
from corpuscle.text.bitext import read_bitext
from corpuscle.text.xml import read_tmx

UNITS = """<tu><tuv xml:lang="en-GB"><seg>the <hi>green</hi> house<ph>{b}</ph></seg></tuv>
<tuv xml:lang="fr"><seg>la
 maison <bpt i="1">&lt;b></bpt>verte<ept i="1">&lt;/b></ept></seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>bonjour</seg></tuv></tu>
<tu><tuv xml:lang="FR"><seg>oui &amp; non</seg></tuv><tuv xml:lang="en-GB"><seg>yes &amp; no</seg></tuv></tu>"""


def tmx(tmp_path, units: str = UNITS, header: str = 'srclang="en-GB"', before: str = "", name: str = "m.tmx"):
    path = tmp_path / name
    path.write_text(f'<?xml version="1.0"?>{before}<tmx version="1.4"><header {header}/><body>{units}</body></tmx>')
    return path


def test_units_with_both_languages_are_pairs_and_codes_are_not_text(tmp_path) -> None:
    path = tmx(tmp_path)
    assert read_tmx(path) == (["the green house", "yes & no"], ["la maison verte", "oui & non"])
    assert list(read_bitext(path)) == [
        (["the", "green", "house"], ["la", "maison", "verte"]),
        (["yes", "&", "no"], ["oui", "&", "non"]),
    ]


def test_languages_can_be_chosen_by_their_beginning(tmp_path) -> None:
    more = UNITS + '<tu><tuv xml:lang="de"><seg>ja</seg></tuv><tuv xml:lang="en-GB"><seg>yes</seg></tuv></tu>'
    path = tmx(tmp_path, more)
    assert read_tmx(path, "fr", "en")[0] == ["la maison verte", "oui & non"]
    assert read_tmx(path, "de", "EN_gb") == (["ja"], ["yes"])
    with pytest.raises(InputError, match=r"which is the source.*de, en-gb, fr"):
        read_tmx(path)
    with pytest.raises(InputError, match="no segment in 'nl'"):
        read_tmx(path, "nl", "en")
    with pytest.raises(SettingError, match="same language"):
        read_tmx(path, "en", "en-GB")
    with pytest.raises(SettingError, match="both languages"):
        read_tmx(path, "en")


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"before": "<!DOCTYPE tmx SYSTEM 'tmx14.dtd'>"}, "document type declaration"),
        ({"header": 'srclang="*all*"'}, "which is the source"),
        ({"units": "<tu><tuv><seg>a</seg></tuv></tu>"}, "unit 1: every tuv needs a language"),
        ({"units": '<tu><tuv xml:lang="en"/></tu>'}, "unit 1: every tuv needs"),
        ({"units": ""}, "no language"),
        ({"units": "<tu>"}, "not well-formed"),
    ],
)
def test_bad_files_are_refused(change, reason, tmp_path) -> None:
    with pytest.raises(InputError, match=reason):
        read_tmx(tmx(tmp_path, **change))


def test_other_xml_is_not_taken_for_a_translation_memory(tmp_path) -> None:
    (tmp_path / "x.tmx").write_text("<html/>")
    with pytest.raises(InputError, match="not a TMX file"):
        read_bitext(tmp_path / "x.tmx")


def test_an_aligner_learns_from_a_translation_memory(tmp_path, capsys) -> None:
    path = tmx(tmp_path, UNITS * 3)
    assert main(["align", "train", str(path), "-o", str(tmp_path / "m"), "--method", "ibm1", "-q", "--json"]) == 0
    assert '"sentence_pairs": 6' in capsys.readouterr().out
