"""SPAMS (pip install spams-bin), in an interpreter of its own.

    python bench/lm_loglinear_peer.py TREE

reads a forest and a point from an npz file (``parents``, ``thresholds``, ``u``, in preorder), applies the proximal
operators of both tree norms to it a few times, and prints, as JSON, the best CPU seconds of each and a sum of what came
out.
"""

import json
import sys
import time

import numpy as np
import scipy.sparse as sp
import spams

given = np.load(sys.argv[1])
parents, u = given["parents"].astype(np.int64), given["u"]
n = len(u)
# One more group, without variables of its own or a weight, is the root of all trees.
columns = np.where(parents < 0, 0, parents + 1)
groups = sp.csc_matrix((np.ones(n, bool), (np.arange(1, n + 1), columns)), shape=(n + 1, n + 1), dtype=bool)
tree = {
    "eta_g": np.concatenate([[0.0], given["thresholds"]]),
    "groups": groups,
    "own_variables": np.concatenate([[0], np.arange(n)]).astype(np.int32),
    "N_own_variables": np.concatenate([[0], np.ones(n)]).astype(np.int32),
}
point = np.asfortranarray(u[:, None])
found = {}
for norm in ("tree-l2", "tree-linf"):
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        w = spams.proximalTree(point, tree, False, lambda1=1.0, regul=norm, numThreads=1)
        seconds.append(time.process_time() - begin)
    found[norm] = {"seconds": min(seconds), "sum": float(w.sum()), "squares": float((w**2).sum())}
print(json.dumps(found))
