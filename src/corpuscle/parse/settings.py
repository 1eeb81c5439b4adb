"""The settings of dependency parsers."""

from __future__ import annotations

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, setting

__all__ = ["LatentSettings", "MstSettings", "RerankSettings"]


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


class LatentSettings(Seeded, Parallel):
    """Settings of trees with hidden states."""

    states: int = setting("How many hidden states a word can have.", default=10, low=1, high=200)
    observe: str = setting(
        "What a state shows: the word, its tag, or both.", default="words", choices=("words", "tags", "both")
    )
    estimator: str = setting(
        "Learn from words with children on both sides, from chains of child, head and its head, or whichever are more.",
        default="auto",
        choices=("auto", "pairs", "chain"),
    )
    stops: bool = setting("Every word has a stop after its last child on either side.", default=True)
    recover: bool = setting(
        "Turn observables into probabilities of states (not for vectors without duals).", default=True
    )
    polish: int = setting("Then so many passes of EM, from the recovered states.", default=50, low=0, high=1000)
    weighting: str = setting(
        "What counts once: every triple of words, or every word in the middle.",
        default="pairs", choices=("pairs", "nodes"),
    )  # fmt: skip
    projection: str = setting(
        "Vectors from child and head: singular vectors of their counts, or canonical directions.",
        default="cca", choices=("svd", "cca"),
    )  # fmt: skip
    kappa: float = setting("Canonical directions: add so much to the count of every word.", default=100.0, low=0.0)
    min_count: int = setting("Rarer words are classes of words that look alike.", default=2, low=1, high=10**9)


class RerankSettings(LatentSettings):
    """Settings of re-rankers."""

    nbest: int = setting("Choose among so many of the parser's best trees.", default=50, low=1, high=1000)
    features: tuple[str, ...] = setting(
        "What trees are chosen by: the parser's score, tags of heads with their children and heads, log p of the words "
        "by hidden states, numbers of children.",
        default=("base", "tags", "logp"),
        choices=("base", "tags", "logp", "structure"),
    )
    base_weight: float = setting("The weight of the parser's score.", default=10.0, above=0.0, high=1e6)
    folds: int = setting("Lists to learn from come from parsers of so many parts but one.", default=3, low=2, high=100)
    jackknife_spectral: bool = setting("The same for log p.", default=True)
    passes: int = setting("Passes over the lists.", default=10, low=1, high=1000)
    hash_bits: int = setting("The weights of features stand in a table of 2^N.", default=18, low=10, high=28)

    def __post_init__(self) -> None:
        super().__post_init__()
        if "base" not in self.features and self.origins["base_weight"] == "given":
            raise SettingError("base_weight means nothing without base among the features")
