"""Pictures of results as SVG, written by hand: small, sharp at any size, light or dark as the reader's screen is.

Each function returns one ``<svg>`` element as a string, which can be a file of its own or stand inside an HTML page. It
scales with the width it is given, asks for nothing from the network, has a title and a description for those who cannot
see it, shows the numbers when a pointer rests on a mark, and is the same bytes for the same data.
"""

from corpuscle.figures.grid import alignment_grid, phrase_lattice
from corpuscle.figures.maps import Place, place_map
from corpuscle.figures.marked_text import TopicShown, WordShown, draw_mentions, draw_readings, shaded_text, topic_list
from corpuscle.figures.plots import Series, bar_plot, box_plot, line_plot
from corpuscle.figures.svg import save_figure
from corpuscle.figures.trees import LeafShown, NodeShown, draw_arcs, draw_constituents, merge_tree

__all__ = [
    "LeafShown", "NodeShown", "Place", "Series", "TopicShown", "WordShown", "alignment_grid", "bar_plot", "box_plot",
    "draw_arcs", "draw_constituents", "draw_mentions", "draw_readings", "line_plot", "merge_tree", "phrase_lattice",
    "place_map", "save_figure", "shaded_text", "topic_list",
]  # fmt: skip
