"""How texts are read: the settings of every learner that reads text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corpuscle.settings import Settings, setting

if TYPE_CHECKING:
    from corpuscle.text.corpus import Corpus
    from corpuscle.text.preprocessing import Preprocessing

__all__ = ["PreprocessingSettings", "ReadingSettings", "TextSettings", "TokenSettings"]


class PreprocessingSettings(Settings):
    """What is done to the words of a text after it has been read."""

    nfc: bool = setting("Compose characters (Unicode NFC), so that two encodings of é are one letter.", default=True)
    lowercase: bool = setting("Lower-case all words.", default=False)
    digits: bool = setting("Write every digit as 0.", default=False)
    tokenise: str = setting("Split punctuation off the words (simple).", default="none", choices=("none", "simple"))


class TextSettings(PreprocessingSettings):
    """A learner that reads words."""

    @property
    def preprocessing(self) -> Preprocessing:
        """What is done to the words of every text."""
        from corpuscle.text.preprocessing import Preprocessing

        return Preprocessing(**{name: getattr(self, name) for name in PreprocessingSettings.SETTINGS})

    @property
    def reading(self) -> dict[str, Any]:
        """How texts are read: arguments of ``read_text`` and its kin."""
        return {"preprocessing": self.preprocessing}

    def read(self, *paths: Any) -> Corpus:
        """Files as a text of this learner: read and prepared as its settings say."""
        from corpuscle.text.plain import read_text

        return read_text(*paths, **self.reading)


class TokenSettings(TextSettings):
    """A learner that reads words, and unknown words as such."""

    unk_token: str = setting(
        "What <unk> in a text is: the unknown word, or a literal one.",
        default="unknown",
        choices=("unknown", "literal"),
    )

    @property
    def reading(self) -> dict[str, Any]:
        """How texts are read: arguments of ``read_text`` and its kin."""
        return {**super().reading, "unk_token": self.unk_token}


class ReadingSettings(TokenSettings):
    """A learner that can read words, characters or graphemes."""

    units: str = setting("What a token is.", default="words", choices=("words", "characters", "graphemes"))

    @property
    def reading(self) -> dict[str, Any]:
        """How texts are read: arguments of ``read_text`` and its kin."""
        return {**super().reading, "units": self.units}
