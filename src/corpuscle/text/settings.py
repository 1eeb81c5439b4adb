"""How texts are read: the settings of every learner that reads text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpuscle.settings import Settings, setting

if TYPE_CHECKING:
    from corpuscle.text.corpus import Corpus, Preprocessing


class TextSettings(Settings):
    """Of a learner that reads words: what is done to them after they have been read."""

    nfc: bool = setting("Compose characters (Unicode NFC), so that two encodings of é are one letter.", default=True)
    lowercase: bool = setting("Lower-case all words.", default=False)
    digits: bool = setting("Write every digit as 0.", default=False)
    tokenise: str = setting("Split punctuation off the words (simple).", default="none", choices=("none", "simple"))

    @property
    def preprocessing(self) -> Preprocessing:
        """What is done to the words of every text."""
        from corpuscle.text.corpus import Preprocessing

        return Preprocessing(**{name: getattr(self, name) for name in Preprocessing.SETTINGS})

    @property
    def reading(self) -> dict[str, Any]:
        """How texts are read: arguments of ``read_text`` and ``read_strings``."""
        more = (kind for kind in (TokenSettings, UnitSettings) if isinstance(self, kind))
        return {"preprocessing": self.preprocessing} | {n: getattr(self, n) for kind in more for n in kind.SETTINGS}

    def read(self, *paths: Any) -> Corpus:
        """Files as a text of this learner: read and prepared as its settings say."""
        from corpuscle.text.plain import read_text

        return read_text(*paths, **self.reading)


class TokenSettings(Settings):
    """A learner that reads unknown words as such."""

    unk_token: str = setting(
        "What <unk> in a text is: the unknown word, or a literal one.",
        default="unknown",
        choices=("unknown", "literal"),
    )


class UnitSettings(Settings):
    """A learner that can read words, characters or graphemes."""

    units: str = setting("What a token is.", default="words", choices=("words", "characters", "graphemes"))


class ReadingSettings(UnitSettings, TokenSettings, TextSettings):
    """All settings of reading."""
