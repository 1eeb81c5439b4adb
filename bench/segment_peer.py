"""Sweeps of nhpylm (pip install nhpylm), which needs an older NumPy than ours and so an interpreter of its own.

    python bench/segment_peer.py TEXT

prints, as JSON, the CPU seconds of one sweep over the text without its spaces: the difference between six sweeps and
one, divided by five.
"""

import json
import sys
import time

from nhpylm.models import NHPYLMModel

with open(sys.argv[1], encoding="utf-8") as file:
    lines = ["".join(line.split()) for line in file]
spent = []
for count in (1, 6):
    begin = time.process_time()
    NHPYLMModel(10).train(lines, lines[:10], count, True, True, print_each_nth_iteration=1000)
    spent.append(time.process_time() - begin)
print(json.dumps({"seconds": (spent[1] - spent[0]) / 5, "letters": sum(map(len, lines))}))
