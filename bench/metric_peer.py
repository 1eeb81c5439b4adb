"""metric-learn (pip install metric-learn "scikit-learn<1.6"), in an interpreter of its own.

    python bench/metric_peer.py METHOD VECTORS

reads train and test items and train labels from a JSON file, learns with the defaults of a method, and prints, as JSON,
the CPU seconds of learning and the mapped test items. After 20 CPU seconds it is given up.
"""

import json
import resource
import sys
import time
import warnings
from pathlib import Path

import metric_learn
import numpy as np

resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
method, path = sys.argv[1:]
given = json.loads(Path(path).read_text(encoding="utf-8"))
train, labels, test = (np.array(given[name]) for name in ("train", "labels", "test"))
# RCA takes the groups themselves as its chunks; its supervised form would draw pairs from them.
settings = {} if method == "RCA" else {"random_state": 1}
learner = getattr(metric_learn, {"MMC": "MMC_Supervised"}.get(method, method))(**settings)
warnings.simplefilter("ignore")
begin = time.process_time()
learner.fit(train, labels)
print(json.dumps({"seconds": time.process_time() - begin, "mapped": learner.transform(test).tolist()}))
