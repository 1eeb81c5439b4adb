"""A process that answers: it loads models when they are first asked and keeps them within a budget of memory.

It reads questions from stdin, one JSON object per line, and writes for each a line with status and length, and as many
bytes of JSON. The server ends it when a question takes too long, and starts another one: nothing that a kernel does can
stop the page. Run as ``python -m corpuscle.web.worker BYTES [QUESTION]``; that question is answered to nobody, so that
models and kernels are loaded when the first one comes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, BinaryIO

from corpuscle.align.verbs import DICTIONARY
from corpuscle.errors import CorpuscleError
from corpuscle.memory import resident, trim
from corpuscle.progress import complaint
from corpuscle.text.tables import plain
from corpuscle.verbs import views


class Answerer:
    """Answers questions; ``budget``: bytes of memory above which models that were not used for long are let go."""

    def __init__(self, budget: int):
        self.budget = budget
        self._models: OrderedDict[tuple[str, int], Any] = OrderedDict()

    def model(self, path: str, changed: int, kind: str) -> Any:
        """A model, loaded now or before; ``changed``: the time of its last change, so that a new one is seen."""
        key = path, changed
        if key not in self._models:
            for old in [old for old in self._models if old[0] == path]:
                del self._models[old]
            self._models[key] = _dictionary(path) if kind == DICTIONARY else _loaded(path)
        self._models.move_to_end(key)
        while len(self._models) > 1 and resident() > self.budget:
            self._models.popitem(last=False)
            trim()
        return self._models[key]

    def answer(self, question: Mapping[str, Any]) -> tuple[int, bytes]:
        """Status and JSON of an answer. What a user can mend is 422, what memory forbids 503, a bug of ours 500."""
        verb = views()[question["task"], question["verb"]]
        try:
            models = [each and self.model(**each) for each in question["models"]]
            found = verb.answer(question["given"], *models)
            return 200, json.dumps(plain(found), ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        except CorpuscleError as error:
            return 422, told(complaint(error))
        except MemoryError:
            self._models.clear()
            return 503, told("out of memory: a shorter text may fit")
        except Exception as error:
            traceback.print_exc()
            return 500, told(f"internal error: {type(error).__name__}: {complaint(error)}")


def told(reason: str) -> bytes:
    """An error as JSON."""
    return json.dumps({"error": reason}).encode()


def _loaded(path: str) -> Any:
    """A model that works in one thread: what is asked over the web is short."""
    from corpuscle.model import load

    model = load(path)
    if "workers" in getattr(model, "SETTINGS", {}):
        model.workers = 1
    return model


def _dictionary(path: str) -> list[dict[str, Any]]:
    """The rows of the dictionary of a pack by the names of its columns."""
    from corpuscle.text.tables import read_table

    rows = (row for _, row in read_table(path))
    heading = next(rows)
    return [dict(zip(heading, row, strict=True)) for row in rows]


def main(arguments: list[str], questions: BinaryIO, answers: BinaryIO) -> None:
    """Answer until there are no more questions."""
    budget = int(arguments[0])
    with suppress(ImportError):  # Windows
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (2 * budget, 2 * budget))
    answerer = Answerer(budget)
    if arguments[1:]:
        answerer.answer(json.loads(arguments[1]))
    for line in questions:
        status, body = answerer.answer(json.loads(line))
        answers.write(b"%d %d\n" % (status, len(body)))
        answers.write(body)
        answers.flush()


if __name__ == "__main__":
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    # The main thread of a process leaves its work to another one, so that it can hear Ctrl-C; this one needs not.
    answering = threading.Thread(target=main, args=(sys.argv[1:], sys.stdin.buffer, out))
    answering.start()
    answering.join()
