"""The settings of dependency parsers."""

from __future__ import annotations

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, Settings, setting


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
    sources: tuple[str, ...] = setting(
        "What stands beside forms and tags where the treebank has it: lemmas, FEATS, or none.",
        default=("features",),
        choices=("none", "lemmas", "features"),
        metavar="NAME,...",
    )
    distance: str = setting(
        "What arcs are combined with: their length, the verbs and commas between their words (Collins), or both.",
        default="length",
        choices=("length", "collins", "both"),
    )
    learner: str = setting("How weights move.", default="mira", choices=("mira", "perceptron"))
    trees: int = setting("MIRA: the right tree must be better than this many of the best.", default=1, low=1, high=100)
    step: float = setting("MIRA: how far one sentence may move the weights.", default=1.0, above=0.0)
    augmented: bool = setting(
        "MIRA: learn until right trees win by a point for each wrong head, not until they win.", default=True
    )
    passes: int = setting("Passes over the training trees.", default=8, low=1, high=1000)
    hash_bits: int = setting("The weights of arcs stand in a table of 2^N.", default=22, low=10, high=28)
    relation_bits: int = setting("The weights of relations stand in a table of 2^N rows.", default=17, low=8, high=24)
    tags: str = setting(
        "Learn from the tags in the treebank, or from those of taggers that did not see them, with a tagger inside.",
        default="gold",
        choices=("gold", "jackknife"),
    )
    single_root: bool = setting("A sentence has one root word.", default=True)

    folds: int = setting(
        "Calibrate confidence without development trees: by parsers of all but one of N parts; 0: not.",
        default=0,
        low=0,
        high=20,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.folds == 1:
            raise SettingError("folds is 0 or at least 2: a parser learns from the other parts")
        if self.learner == "perceptron":
            for name in ("trees", "step", "augmented"):
                if self.origins[name] == "given":
                    raise SettingError(f"{name} means nothing with learner perceptron")


class PairChoices(Settings):
    """What all parsers that classify pairs of words can choose."""

    classifier: str = setting(
        "Maximum entropy, or a support vector machine, whose trees score sums of margins.",
        default="maxent",
        choices=("maxent", "svm"),
    )
    ratio: float = setting("Pairs without an arc to learn from, for each arc.", default=2.5, above=0.0)
    variance: float = setting("Variance of the weights: the penalty is |w|^2 / (2 variance).", default=1.0, above=0.0)
    prior_correction: bool = setting("Undo that pairs without an arc are sampled.", default=True)
    passes: int = setting("Maximum number of L-BFGS steps.", default=100, low=1, high=10_000)
    min_count: int = setting("Features of fewer training pairs have no weight.", default=2, low=1, high=10**9)
    max_pairs: int = setting("Learn from a sample of at most N pairs.", default=2_000_000, low=1, high=10**8)
    decoder: str = setting(
        "How trees are found: Eisner's chart (exact), the K best by joined segments, or with crossing arcs.",
        default="eisner",
        choices=("eisner", "chart", "mst"),
    )
    beam: int = setting("Decoder chart: segments that are kept for every span.", default=8, low=1, high=1000)
    margin: int = setting("Decoder chart: segments that are looked at beyond those.", default=4, low=0, high=100_000)
    per_root: bool = setting("Decoder chart: the beam is for every root of a span.", default=False)
    tag_layer: str = setting(
        "Which tags: XPOS where there are any (auto), universal ones, or word classes in their place.",
        default="auto",
        choices=("auto", "upos", "xpos", "classes"),
    )
    hash_bits: int = setting("The weights of pairs stand in a table of 2^N.", default=22, low=10, high=28)
    relation_bits: int = setting("The weights of relations stand in a table of 2^N rows.", default=17, low=8, high=24)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("beam", "margin", "per_root"):
            if self.decoder != "chart" and self.origins[name] == "given":
                raise SettingError(f"{name} means nothing with decoder {self.decoder}")


class PairSettings(PairChoices, Seeded, Parallel):
    """Settings of parsers that classify pairs of words."""


class BranchingSettings(Parallel):
    """Settings of trees that know nothing of words."""

    method: str = setting("Every word hangs on its left or its right neighbour.", default="right",
                          choices=("left", "right"))  # fmt: skip


class ProjectionSettings(PairChoices, Seeded, Parallel):
    """Settings of parsers that are projected from another language."""

    method: str = setting(
        "Learn from single pairs that are sure enough (instances), from trees copied link by link (direct), or from "
        "the trees that fit all pairs best (tree).",
        default="instances",
        choices=("instances", "direct", "tree"),
    )
    threshold: float = setting(
        "instances: a pair is an arc above this probability, none below 1 minus it, and not used in between.",
        default=0.85, above=0.5, below=1.0,
    )  # fmt: skip
    kappa: float = setting("How much one unit of evidence weighs.", default=4.0, above=0.0)
    evidence: str = setting(
        "The probability of an arc: sigmoid(kappa * (for - against)), or for / (for + against).",
        default="sigmoid",
        choices=("sigmoid", "ratio"),
    )
    same_source: bool = setting("Two words linked to the same word speak against an arc.", default=True)
    weighted: bool = setting("instances: pairs count by how sure they are.", default=False)
    punctuation: bool = setting("Learn from pairs with punctuation, too.", default=True)
    tree_score: str = setting(
        "tree: the best tree by the sum of probabilities, or of their logarithms.",
        default="log",
        choices=("log", "sum"),
    )
    coverage: float = setting(
        "direct, tree: use sentences of which at least this share of words has links.", default=0.0, low=0.0, high=1.0
    )
    max_length: int = setting("Longer sentences are not projected.", default=60, low=2, high=1000)
    floor: float = setting("Weaker links are none.", default=0.01, low=0.0, high=1.0)
    classes: int = setting("Word classes to learn where words have no tags.", default=200, low=2, high=10_000)
    tag_layer: str = setting(
        "Which tags of the target: universal ones, else XPOS, else word classes (auto).",
        default="auto",
        choices=("auto", "upos", "xpos", "classes"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        needed = {"weighted": "instances", "threshold": "instances", "tree_score": "tree"}
        for name, method in needed.items():
            if self.method != method and self.origins[name] == "given":
                raise SettingError(f"{name} means nothing with method {self.method}")
        if self.method == "instances" and self.origins["coverage"] == "given":
            raise SettingError("coverage means nothing with method instances")
        if self.evidence == "ratio" and self.origins["kappa"] == "given":
            raise SettingError("kappa means nothing with evidence ratio")


class BoostSettings(Parallel):
    """Settings of a parser that is boosted by another one's pairs."""

    max_weight: float = setting("The weight of the pairs is at most this.", default=5.0, above=0.0)


class RerankSettings(Seeded, Parallel):
    """Settings of re-rankers: of trees with hidden states, from ``states`` to ``min_count``, and of choosing."""

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
    polish: int = setting("Passes of EM from the recovered states.", default=50, low=0, high=1000)
    weighting: str = setting(
        "What counts once: every triple of words, or every word in the middle.",
        default="pairs", choices=("pairs", "nodes"),
    )  # fmt: skip
    projection: str = setting(
        "Vectors from child and head: singular vectors of their counts, or canonical directions.",
        default="cca", choices=("svd", "cca"),
    )  # fmt: skip
    kappa: float = setting("Canonical directions: pseudo-count of every word.", default=100.0, low=0.0)
    min_count: int = setting("Rarer words are classes of words that look alike.", default=2, low=1, high=10**9)

    nbest: int = setting("Choose among this many of the parser's best trees.", default=50, low=1, high=1000)
    features: tuple[str, ...] = setting(
        "What trees are chosen by: the parser's score, tags of heads with their children and heads, log p of the words "
        "by hidden states, numbers of children.",
        default=("base", "tags", "logp"),
        choices=("base", "tags", "logp", "structure"),
    )
    learner: str = setting(
        "How weights are learned: maximum entropy over each list, or the averaged perceptron, list by list.",
        default="maxent", choices=("maxent", "perceptron"),
    )  # fmt: skip
    variance: float | None = setting(
        "maxent: variance of the weights, the penalty is |w|^2 / (2 variance).",
        default=None, above=0.0, high=1e6, shown="by held-out lists",
    )  # fmt: skip
    base_weight: float | None = setting(
        "The weight of the parser's score.",
        default=None, above=0.0, high=1e6, shown="learned; perceptron: by held-out lists",
    )  # fmt: skip
    folds: int = setting("Lists to learn from come from parsers of all but one of N parts.", default=3, low=2, high=100)
    jackknife_spectral: bool = setting("The same for log p.", default=True)
    passes: int = setting("Maximum number of L-BFGS steps, or perceptron passes.", default=20, low=1, high=1000)
    hash_bits: int = setting("The weights of features stand in a table of 2^N.", default=18, low=10, high=28)

    def __post_init__(self) -> None:
        super().__post_init__()
        if "base" not in self.features and self.origins["base_weight"] == "given":
            raise SettingError("base_weight means nothing without base among the features")
        if self.learner == "perceptron" and self.origins["variance"] == "given":
            raise SettingError("variance means nothing with learner perceptron")
