"""Requests that schemathesis generates from the OpenAPI schema of a server, half of them against the schema."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Asked", "ask_everything"]


class Asked(NamedTuple):
    """A request, and what was answered."""

    operation: str
    status: int
    body: Any
    answer: str


WITHOUT = ["/api/learning/start"]
"""Endpoints that are left out: each start would learn anew."""


def ask_everything(address: str, requests: int, part: int = 0, parts: int = 1) -> list[Asked]:
    """At least so many requests in all, evenly over the endpoints; or one of several parts of them."""
    import requests as http
    import schemathesis

    schema = schemathesis.openapi.from_url(f"{address}openapi.json").exclude(path=WITHOUT)
    operations = [each.ok() for each in schema.get_all_operations()]
    modes, bodies = schemathesis.GenerationMode, [each for each in operations if each.body]
    jobs = [(each, modes.POSITIVE) for each in operations]
    jobs += [(each, modes.NEGATIVE) for each in bodies if each.body[0].media_type == "application/json"]
    most = -(-requests // (len(jobs) - len(operations) + len(bodies)))
    with http.Session() as session:
        return [asked for job in jobs[part::parts] for asked in _ask(*job, most, session)]


def _ask(operation: Any, mode: Any, most: int, session: Any) -> list[Asked]:
    from hypothesis import HealthCheck, Phase, given, seed, settings

    found = []

    @seed(1)
    @settings(
        max_examples=most, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        response = case.call(session=session, timeout=600)
        found.append(Asked(operation.label, response.status_code, case.body, response.text[:500]))

    ask()
    return found
