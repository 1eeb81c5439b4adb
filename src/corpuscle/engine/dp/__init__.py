"""Dynamic programs: ``chains`` (all paths through positions with the same states), ``nbest`` (the n best paths of a
decoder's lattice)."""
