"""``python -m bench NAME``: run a benchmark, cell by cell, write its section of ``results/`` and the summary.

``python -m bench soak`` is none: it tries the whole product for a while, and writes a section like theirs."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

from bench import harness


def main() -> None:
    if sys.argv[1:2] == ["soak"]:
        from bench import soak

        if results := soak.main(sys.argv[2:]):
            write("soak", soak, results)
        return
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("bench", choices=harness.benches())
    parser.add_argument("--repeats", type=int, default=5, help="how often each side runs (default 5)")
    parser.add_argument("--only", metavar="NAME", help="only cells whose name contains this; no page is written")
    parser.add_argument("--stored", action="store_true", help="run nothing: write the section from what is stored")
    parser.add_argument("--fresh", action="store_true", help="measure again what is stored")
    given = parser.parse_args()
    data = Path(os.environ.get("CORPUSCLE_DATA", "../shared/data"))
    if not data.is_dir():
        parser.error(f"no data folder {data}: set CORPUSCLE_DATA")

    bench = importlib.import_module(f"bench.{given.bench}")
    results = {}
    for cell in bench.cells(data.resolve()):
        if given.stored and not harness.place_of(given.bench, cell, given.repeats).exists():
            print(f"not run yet: {cell.name}")
        elif given.only is None or given.only in cell.name:
            results[cell.name] = harness.run_cell(given.bench, cell, given.repeats, given.fresh)
            print(harness.table(results[cell.name]), flush=True)
    if given.only is None:
        write(given.bench, bench, results)


def write(name: str, bench, results: dict) -> None:
    """Show what a benchmark has shown, and write its section and the summary."""
    claims = harness.claims_table(bench.claims(results))
    print(claims)
    harness.write_section(harness.page_of(name), name, report(bench, claims, results))
    (harness.HERE / "RESULTS.md").write_text(harness.summary())


def report(bench, claims: str, results: dict) -> str:
    """The section of a benchmark: what it must show, where it ran, every cell, notes."""
    here, versions = harness.machine(), harness.versions()
    dates = sorted({result["date"] for result in results.values()})
    where = f"{here['processor']}, {here['cores']} cores, {here['memory']}, {here['system']}"
    what = ", ".join(f"{name} {version}" for name, version in versions.items())
    parts = [
        f"## {bench.__name__.rpartition('.')[2]}",
        f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))} on {where}. Versions: {what}." if dates else "",
        claims,
        *(bench.tables(results) if hasattr(bench, "tables") else map(harness.table, results.values())),
        bench.notes(results),
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip())


if __name__ == "__main__":
    main()
