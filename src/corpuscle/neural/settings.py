"""The settings of neural models: how large they are, how they learn, and how verbs apply and export them.

Imports neither NumPy nor PyTorch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from corpuscle.errors import SettingError
from corpuscle.settings import Settings, setting
from corpuscle.verbs import path

CELLS = ("gru", "mlstm", "transformer")
SCHEDULES = ("linear", "plateau", "root")


@dataclass(frozen=True)
class Architecture:
    """What decides the names and shapes of all weights, together with the numbers of symbols.

    - ``cell``: what reads the input of a recurrent layer, ``gru`` or ``mlstm`` (multiplicative LSTM; deeper transitions
      and the cell after the attention are GRUs either way); or ``transformer``;
    - ``embedding``, ``state``: sizes of symbol vectors and of recurrent states (``state`` is ``embedding`` in a
      transformer); ``attention``: size of its hidden layer;
    - ``encoder_layers``, ``encoder_depth``: stacked layers of alternating direction, cells in each;
    - ``decoder_layers``, ``base_depth``, ``high_depth``: stacked layers, cells of the first one (at least 2: the
      attention stands between the first two) and of the others;
    - ``layer_norm``: normalise every product in cells, attention and output (a transformer always does);
    - ``tied``: one matrix embeds both sides and gives the output, so both have one table of symbols;
    - ``high_context``: upper layers of the decoder see what the attention has found, too;
    - ``heads``, ``feedforward``: of a transformer.
    """

    cell: str = "gru"
    embedding: int = 64
    state: int = 96
    attention: int = 192
    encoder_layers: int = 1
    encoder_depth: int = 2
    decoder_layers: int = 1
    base_depth: int = 3
    high_depth: int = 2
    layer_norm: bool = True
    tied: bool = True
    high_context: bool = False
    heads: int = 4
    feedforward: int = 256

    def __post_init__(self) -> None:
        sizes = {name: value for name, value in dataclasses.asdict(self).items() if type(value) is int}
        for name, size in sizes.items():
            if not 1 <= size <= 1 << 14:
                raise SettingError(f"{name} is a whole number from 1 to 16,384; not {size}")
        if self.cell not in CELLS:
            raise SettingError(f"cell is one of {', '.join(CELLS)}; not {self.cell!r}")
        if self.base_depth < 2:
            raise SettingError("base_depth is at least 2: the attention stands between the first two cells")
        if self.recurrent:
            return
        if self.embedding % (2 * self.heads):
            raise SettingError(f"{self.heads} heads do not share {self.embedding} numbers in even parts")
        if self.state != self.embedding or not self.layer_norm:
            raise SettingError("a transformer has layer normalisation, and states as large as embeddings")

    @property
    def recurrent(self) -> bool:
        """Whether it has states that are carried along."""
        return self.cell != "transformer"


PRESETS = {
    "tiny": Architecture(),
    "small": Architecture(state=128, attention=256, encoder_layers=2, decoder_layers=2),
    "medium": Architecture(
        embedding=128, state=256, attention=512, encoder_layers=2, decoder_layers=2, base_depth=4
    ),
    "paper": Architecture(
        embedding=512, state=1024, attention=2048, encoder_layers=4, decoder_layers=4, base_depth=4
    ),
    "transformer": Architecture(
        cell="transformer", embedding=128, state=128, attention=128, encoder_layers=3, decoder_layers=3
    ),
    "mlstm": Architecture(
        cell="mlstm", embedding=128, state=256, attention=256, encoder_depth=1, base_depth=2, layer_norm=False
    ),
}  # fmt: skip
"""Sizes by name: tiny to paper are those of Grundkiewicz and Heafield 2018, smaller and smaller; mlstm is the sentence
model of Hoang, Dwojak, Krislauks, Torregrosa and Heafield 2018, smaller."""


class NetworkSettings(Settings):
    """Settings of what writes with networks: how they learn, how large they are, how many there are."""

    dropout: float = setting("Share of inputs and states that a sequence does not see.", default=0.2, low=0, below=1)
    symbol_dropout: float = setting("Share of symbols that are hidden.", default=0.1, low=0, below=1)
    label_smoothing: float = setting("Share of each target spread over all symbols.", default=0.1, low=0, below=1)
    rate: float | None = setting(
        "Learning rate at its peak.", default=None, above=0, high=1, shown="0.01, larger models less"
    )
    warm_up: int = setting("So many updates lead up to it.", default=200, low=0, high=1_000_000)
    schedule: str | None = setting(
        "How the rate falls: in a line to 0; after validations without a new minimum; or by the root of the updates.",
        default=None, choices=SCHEDULES, shown="linear, of a transformer root",
    )  # fmt: skip
    batch: int | None = setting(
        "Pairs of an update.", default=None, low=1, high=100_000, shown="32, of a transformer 128"
    )
    max_epochs: int | None = setting(
        "At most so often through the pairs.",
        default=None, low=1, high=100_000, shown="so that 450,000 pairs are seen, 12 to 100",
    )  # fmt: skip
    patience: int | None = setting(
        "So many validations in a row without a new least cross-entropy end it.",
        default=None, low=1, high=1000, shown="5, without end if linear",
    )  # fmt: skip
    decay: float = setting("Factor of the rate after each of them, of schedule plateau.", default=0.9, above=0, high=1)
    validate_every: int | None = setting(
        "Updates between two validations.", default=None, low=1, high=1_000_000, shown="500, or once through fewer"
    )
    average_weights: bool = setting("Validate and keep a running mean of the weights, not the last ones.", default=True)
    max_length: int = setting("Longer pairs are left out (symbols).", default=80, low=1, high=10_000)
    preset: str = setting("How large the model is.", default="tiny", choices=tuple(PRESETS))
    embedding: int | None = setting("Size of symbol vectors.", default=None, low=2, high=4096, shown="of the preset")
    state: int | None = setting("Size of states.", default=None, low=2, high=4096, shown="of the preset")
    encoder_layers: int | None = setting("Layers of the encoder.", default=None, low=1, high=16, shown="of the preset")
    decoder_layers: int | None = setting("Layers of the decoder.", default=None, low=1, high=16, shown="of the preset")
    high_context: bool = setting("Show the upper layers of the decoder what the attention has found.", default=False)
    ensemble: int = setting("Models that write together.", default=1, low=1, high=100)
    right_to_left: int = setting(
        "Models that write from the end, to rank what the others have found.", default=0, low=0, high=100
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.architecture  # complains about sizes that do not fit
        if self.origins["decay"] == "given" and self.schedule != "plateau":
            raise SettingError("decay is of schedule plateau: elsewhere the rate falls by the updates")

    @cached_property
    def architecture(self) -> Architecture:
        """The preset with what is given in its place."""
        base = PRESETS[self.preset]
        names = ("embedding", "state", "encoder_layers", "decoder_layers")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if not base.recurrent:
            if "state" in given:
                raise SettingError("a transformer has no state besides its symbol vectors: give embedding")
            given |= {"state": given.get("embedding", base.state)}
        elif "state" in given:
            given |= {"attention": given["state"] * base.attention // base.state}
        return dataclasses.replace(base, high_context=self.high_context, **given)

    def schedule_of(self, architecture: Architecture) -> str:
        """How the rate of such a model falls."""
        return self.schedule or ("linear" if architecture.recurrent else "root")


class DecodingSettings(Settings):
    """Settings of how a trained model is applied."""

    beam: int = setting("Hypotheses kept of each sentence.", default=5, low=1, high=1000)
    nbest: int = setting("Candidates wanted of each sentence.", default=1, low=1, high=1000)
    batch: int | None = setting(
        "Sentences read together.", default=None, low=1, high=1_000_000, shown="by their symbols"
    )
    batch_symbols: int = setting("Symbols read together.", default=2000, low=1, high=10_000_000)
    batching: str = setting(
        "Drop what has ended, or compute it to the end.", default="efficient", choices=("efficient", "naive")
    )
    sort: bool = setting("Read sentences in the order of their length.", default=True)
    refill: bool = setting("When half of a batch's rows are free, let others join it.", default=True)
    prune: bool = setting("Drop hypotheses that cannot be among the wanted ones any more.", default=False)
    scores: bool = setting("Compute probabilities, also where a beam of 1 does not need them.", default=True)
    normalisation: float = setting("Divide by length to this power.", default=1.0, low=0, high=10)
    length_factor: int = setting("Targets are at most so many times as long as sources,", default=3, low=0, high=1000)
    length_extra: int = setting("plus so many symbols.", default=10, low=1, high=100_000)


BEAM: Any = setting("Hypotheses kept at each step, instead of the model's.", default=None, low=1, high=10_000)
PRECISION: Any = setting("Neural: numbers of 8 bits are quicker.", default=None, choices=("fp32", "int8"))
TOLERANCE: Any = setting(
    "Refuse 8 bits if more than this share of the first 200 inputs changes.",
    default=0.005, low=0, high=1, metavar="SHARE",
)  # fmt: skip
REPORT: Any = path(
    "Neural: write rows, steps, seconds by stage and memory of the run (JSON).", form="file", option=True
)


@contextmanager
def applying(model: Any, texts: Any, precision: str | None, tolerance: float, report: str | None) -> Iterator[None]:
    """The frame of the application of a model to some texts: before it, numbers of 8 bits are compared with the usual
    ones; after it, what was done is written to ``report``. Both are for networks only."""
    from corpuscle.neural.base import Networks
    from corpuscle.text.files import write_atomically

    networks = isinstance(model, Networks)
    if report is not None and not networks:
        raise SettingError("--report is about networks")
    if precision == "int8" and networks:
        model.check_precision(texts, precision, tolerance)
    yield
    if report is not None:
        import json

        with write_atomically(report, "w") as out:
            out.write(json.dumps(model.decoder(precision or "fp32").report_.to_json()) + "\n")


def export_networks(model: Any, output: str | None) -> None:
    """Write every network of a model as ONNX: a decoder's step and its encoder; several networks are numbered."""
    from pathlib import Path

    from corpuscle.neural import write_onnx
    from corpuscle.progress import say

    if output in (None, "-"):
        raise SettingError("a neural model becomes several files: say where with -o")
    place, several = Path(output), len(model.models_) > 1
    for number in range(len(model.models_)):
        file = place.with_name(f"{place.stem}.{number + 1}{place.suffix}") if several else place
        say("wrote " + " and ".join(map(str, write_onnx(model.weights(number), file))))
