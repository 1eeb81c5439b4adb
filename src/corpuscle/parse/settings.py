"""The settings of dependency parsers."""

from __future__ import annotations

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, setting

__all__ = ["MstSettings"]


class MstSettings(Seeded, Parallel):
    """Settings of graph-based parsers."""

    order: int = setting(
        "1: arcs one by one; 2: with the neighbouring modifier of the same head.", default=2, low=1, high=2
    )
    decode: str = setting(
        "Trees without crossing arcs, all trees, or all if more than one in twenty training trees has crossing arcs.",
        default="auto",
        choices=("auto", "projective", "nonprojective"),
    )
    learner: str = setting("How weights move.", default="mira", choices=("mira", "perceptron"))
    trees: int = setting("MIRA: the right tree must be better than so many of the best.", default=1, low=1, high=100)
    step: float = setting("MIRA: how far one sentence may move the weights.", default=1.0, above=0.0)
    passes: int = setting("Passes over the training trees.", default=6, low=1, high=1000)
    hash_bits: int = setting("The weights of arcs stand in a table of 2^N.", default=22, low=10, high=28)
    relation_bits: int = setting("The weights of relations stand in a table of 2^N rows.", default=17, low=8, high=24)
    tags: str = setting(
        "Learn from the tags in the treebank, or from those of taggers that did not see them, with a tagger inside.",
        default="gold",
        choices=("gold", "jackknife"),
    )
    single_root: bool = setting("A sentence has one root word.", default=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learner == "perceptron":
            for name in ("trees", "step"):
                if self.origins[name] == "given":
                    raise SettingError(f"{name} means nothing with learner perceptron")
