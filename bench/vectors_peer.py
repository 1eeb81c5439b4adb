"""Skip-gram of gensim (pip install gensim), in an interpreter of its own.

    python bench/vectors_peer.py TEXT WINDOW EPOCHS PAIRS...

learns vectors of 100 dimensions from a lower-cased text on one thread, and prints, as JSON, the CPU seconds of learning
and Spearman's correlation on each file of pairs.
"""

import json
import sys
import time
from pathlib import Path

from gensim.models import Word2Vec
from scipy.stats import spearmanr


def spearman(vectors, pairs) -> float:
    """Spearman's correlation on the pairs of which both words have vectors."""
    known = [(vectors.similarity(a, b), score) for a, b, score in pairs if a in vectors and b in vectors]
    return float(spearmanr(*zip(*known, strict=True)).statistic)


text, window, epochs, *files = sys.argv[1:]
begin = time.process_time()
with open(text, encoding="utf-8") as file:
    sentences = [line.lower().split() for line in file]
model = Word2Vec(
    sentences, sg=1, vector_size=100, window=int(window), epochs=int(epochs), min_count=5, workers=1, seed=1
)
answer = {"seconds": time.process_time() - begin}
for name in files:
    rows = [line.split("\t") for line in Path(name).read_text(encoding="utf-8").splitlines()]
    pairs = [(a.lower(), b.lower(), float(score)) for a, b, score in rows]
    if Path(name).stem.startswith("men"):
        answer["MEN, dev part"] = spearman(model.wv, [pair for i, pair in enumerate(pairs) if i % 3])
        answer["MEN, test part"] = spearman(model.wv, [pair for i, pair in enumerate(pairs) if i % 3 == 0])
    answer[Path(name).stem] = spearman(model.wv, pairs)
print(json.dumps(answer))
