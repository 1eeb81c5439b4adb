"""The settings of metrics."""

from __future__ import annotations

from corpuscle.errors import SettingError
from corpuscle.settings import Parallel, Seeded, Settings, setting
from corpuscle.text.settings import TextSettings


class SolutionSettings(Settings):
    """What decides how groups of vectors become a metric."""

    method: str = setting("How to learn.", default="discriminant", choices=("discriminant", "distortion", "diagonal"))
    singular: str | None = setting(
        "Where groups have no scatter: a ridge, one by the variance of each feature, no weight, shrinkage, the range.",
        default=None, choices=("ridge", "scaled", "pinv", "shrink", "range"),
        shown="scaled for vectors, ridge for texts and after a reduction",
    )  # fmt: skip
    ridge: float | None = setting(
        "The ridge, as a share of the mean scatter of a direction, or of the variance of a feature.",
        default=None, above=0.0, shown="0.1; scaled 0.01",
    )  # fmt: skip
    weights: str = setting(
        "What a group counts: equal, the sum over its items; size, their mean.",
        default="equal", choices=("equal", "size"),
    )  # fmt: skip
    directions: int | None = setting("Keep the N most discriminative directions.", default=None, low=1, high=100_000)


class MetricSettings(SolutionSettings, TextSettings, Seeded, Parallel):
    """Settings of a metric for texts or vectors."""

    dimensions: int | None = setting(
        "First reduce the features to N dimensions (0: do not); by default, texts to 500.",
        default=None, low=0, high=100_000,
    )  # fmt: skip
    distance: str | None = setting(
        "How mapped items are compared; by default, texts by cosine, vectors by euclidean.",
        default=None, choices=("euclidean", "cosine"),
    )  # fmt: skip
    max_items: int = setting("Learn from at most N random items of a group.", default=100, low=2, high=10**9)
    min_count: int = setting("Leave out words that occur less often.", default=2, low=1, high=10**9)
    function_words: int = setting("Features: also pairs of the N most frequent words.", default=0, low=0, high=10_000)
    idf: bool = setting("Weight features by the logarithm of how rare they are.", default=True)
    length: int | str | None = setting(
        "Draw so many words from each training text, again and again from short ones; median: as many as half of "
        "them have.",
        default=None, low=1, high=10**9, words=("median",),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.directions is not None and self.method == "diagonal":
            raise SettingError("directions means nothing with the method diagonal, which weights features only")
        if self.dimensions and self.directions and self.directions > self.dimensions:
            raise SettingError(f"{self.dimensions} dimensions have no {self.directions} directions")
