"""What the columns of a pool of restaurants (``pool.Restaurants``) hold, by name.

The first two columns of nodes and entries are the key by which an item is found; free items, cells too, have FREE in
the first column and the next free item in the second.

Teh, "A hierarchical Bayesian language model based on Pitman-Yor processes", 2006, for restaurants and their tables.
"""

PARENT, SYMBOL, LAW, CUSTOMERS, TABLES, CHILDREN, STOPS, PASSES = range(8)
"""Of nodes."""
NODE, DISH, UP, _, _, SINGLES, CELLS, OWN = range(8)
"""Of entries; CUSTOMERS and TABLES are where nodes have them."""
SIZE, COUNT, NEXT = range(3)
"""Of cells."""

NODES, ENTRIES, CELL_ROWS = range(3)
"""The rows of ``counters``."""
USED, FREE_HEAD, FREE_COUNT = range(3)
"""The columns of ``counters``."""

NONE, FREE = -1, -2
