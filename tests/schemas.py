"""A tiny schema language for the JSON that commands print.

    conforms(printed, {"perplexity": float | None, "tokens": int, "oov_rate": FRACTION, "words": [str]})

A schema is a type or a union of types, ``Any``, ``FRACTION`` (a number in 0..1), a one-element list (a list of such), a
dictionary (an object with exactly these names; a name that ends in ``?`` may be missing), or ``{str: schema}`` (any
names).
"""

from __future__ import annotations

import json
from types import UnionType
from typing import Any, get_args

FRACTION = "a number in 0..1"


def conforms(value: Any, schema: Any, where: str = "$") -> None:
    """Assert that a JSON value is what its schema says. An int will do where a float is wanted, a bool will not."""
    if schema is FRACTION:
        assert type(value) in (int, float) and 0 <= value <= 1, f"{where} is {value!r}, not {FRACTION}"
    elif isinstance(schema, UnionType):
        problems = []
        for option in get_args(schema):
            try:
                return conforms(value, option, where)
            except AssertionError as problem:
                problems.append(str(problem))
        raise AssertionError("; ".join(problems))
    elif isinstance(schema, list):
        assert type(value) is list, f"{where} is {value!r}, not a list"
        for i, item in enumerate(value):
            conforms(item, schema[0], f"{where}[{i}]")
    elif isinstance(schema, dict):
        assert type(value) is dict, f"{where} is {value!r}, not an object"
        if schema.keys() == {str}:
            schema = dict.fromkeys(value, schema[str])
        known = {name.removesuffix("?") for name in schema}
        assert not value.keys() - known, f"{where} has the unknown names {sorted(value.keys() - known)}"
        for name, inner in schema.items():
            plain = name.removesuffix("?")
            if plain in value:
                conforms(value[plain], inner, f"{where}.{plain}")
            else:
                assert name.endswith("?"), f"{where} has no {name!r}"
    elif schema is Any:
        return
    else:
        wanted = (int, float) if schema is float else (type(None),) if schema is None else (schema,)
        assert type(value) in wanted, f"{where} is {value!r}, not {getattr(schema, '__name__', schema)}"


def last_line_conforms(stdout: str, schema: Any) -> Any:
    """The JSON object in the last line of what a command printed, checked."""
    value = json.loads(stdout.rstrip("\n").rsplit("\n", 1)[-1])
    conforms(value, schema)
    return value
