"""Questions: from the bytes of a request to checked input, to a worker, to JSON, said once for all verbs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from corpuscle.catalogue import TASKS
from corpuscle.errors import SettingError
from corpuscle.settings import Settings
from corpuscle.web.guard import Limits, Refusal
from corpuscle.web.holdings import Holding, Holdings
from corpuscle.web.pool import Answers, Pool
from corpuscle.web.verbs.table import Verb

__all__ = ["Asking", "checked", "input_schema", "parsed"]

_SHORT = 2_000
"""Characters of an input that is not a text: a word, a name, a search."""

FIRST_TASK = "lm"
"""The task of the page's first view."""

_LONG = ("text", "source", "target", "names", "familiar")


def parsed(body: bytes) -> dict[str, Any]:
    """The JSON object of a body. Anything else is refused."""
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise Refusal(400, "the body is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refusal(422, "the body is not a JSON object")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def checked(given: Mapping[str, Any], inputs: type[Settings], limits: Limits) -> Settings:
    """Input with its declared types and bounds; a text that is too long is 413, all else that is wrong 422."""
    for name, value in given.items():
        if isinstance(value, str):
            most = limits.text if name in _LONG else _SHORT
            if len(value) > most:
                raise Refusal(413, f"{name} has {len(value):,} characters; at most {most:,} are answered")
            if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
                raise Refusal(422, f"{name} has half a surrogate pair in it, which is no character")
    try:
        return inputs(**given)
    except (SettingError, TypeError) as error:
        raise Refusal(422, str(error)) from None


def input_schema(inputs: type[Settings], limits: Limits) -> dict[str, Any]:
    """The JSON schema of an input, from its settings, with the greatest lengths of texts."""
    schema = inputs.schema()
    for name, declared in schema["properties"].items():
        if declared.get("type") == "string" and "enum" not in declared:
            declared["maxLength"] = limits.text if name in _LONG else _SHORT
    return schema


class Asking:
    """Asks the models of what is served, and remembers answers as long as the models do not change."""

    def __init__(self, holdings: Holdings, limits: Limits):
        self.holdings, self.limits = holdings, limits
        self.pool = Pool(limits.workers, limits.memory, limits.seconds, self._first())
        self.answers = Answers()

    def _first(self) -> dict[str, Any] | None:
        """A question about the model whose view comes first, so that a worker is ready when somebody asks."""
        holding = self.beside(FIRST_TASK) or next(iter(self.holdings.models().values()), None)
        return holding and self._question(holding, holding.verbs[0], holding.verbs[0].example)

    def find(self, model: str, name: str) -> tuple[Holding, Verb]:
        """A model that is served, and a verb that it knows."""
        holding = self.holdings.model(model)
        if holding is None:
            raise Refusal(404, f"there is no model {model[:60]!r}")
        verb = next((each for each in holding.verbs if each.name == name), None)
        if verb is None:
            known = ", ".join(each.name for each in holding.verbs)
            raise Refusal(404, f"this model does not know {name[:60]!r}; it knows {known}")
        return holding, verb

    def beside(self, task: str) -> Holding | None:
        """A model of a task that other verbs need, if there is one."""
        kinds = TASKS[task].kinds
        return next((each for each in self.holdings.models().values() if each.kind in kinds), None)

    def _question(self, holding: Holding, verb: Verb, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a worker is asked."""
        models = [holding, *([self.beside(verb.beside)] if verb.beside else [])]
        asked = [each and {"path": str(each.path), "changed": each.changed, "kind": each.kind} for each in models]
        return {"task": verb.task, "verb": verb.name, "given": dict(given), "models": asked}

    async def ask(self, model: str, name: str, given: Mapping[str, Any]) -> tuple[int, bytes]:
        """Status and JSON of an answer, from memory if it was given before."""
        holding, verb = self.find(model, name)
        question = self._question(holding, verb, checked(given, verb.inputs, self.limits).settings)
        key = json.dumps(question, sort_keys=True)
        known = self.answers.get(key)
        if known is not None:
            return 200, known
        status, body = await self.pool.ask(question)
        if status == 200:
            self.answers.keep(key, body)
        return status, body
