"""Writes the benchmark's results into README.md and docs/benchmark.md, the pages of docs/studies from the figures
there, and docs/claims.md and docs/data.md from both; with --check, says whether they are there."""

import re
import sys
from pathlib import Path

from ccmtad.bench import statistics
from ccmtad.bench.report import glance, markdown, sections
from ccmtad.bench.run import read
from ccmtad.bench.summary import groups
from ccmtad.studies import pages
from ccmtad.studies.floors import data_page
from ccmtad.studies.overview import claims_page

DOCS = Path(__file__).parent
FILES = ("default", "ecod", "rivals", "authors", "combined", "inject")
IN_README = ("default", "authors", "combined")


def main() -> None:
    records = {name: read(DOCS / "results" / f"{name}.jsonl.gz") for name in FILES}
    everything = [record for name in FILES for record in records[name]]
    labelled = [record for record in everything if not record["plan"].get("inject")]
    whole = markdown(sections(everything))
    parts = glance(groups([record for name in IN_README for record in records[name]]))
    tables = [[line for line in markdown([part]).splitlines() if line.startswith("|")] for part in parts]
    label_free = [line for line in tables[0] if "the authors' settings" not in line]
    table = "\n".join([*label_free, "", *tables[1]])
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    between = re.compile(r"(<!-- results -->\n).*?(<!-- end of results -->)", re.DOTALL)
    wanted = {
        DOCS / "benchmark.md": whole,
        DOCS.parent / "README.md": between.sub(lambda m: f"{m[1]}{table}\n{m[2]}", readme),
        DOCS / "claims.md": markdown(claims_page(labelled, pages.read(DOCS / "studies"))),
        DOCS / "data.md": markdown(data_page(statistics.read(DOCS / "data.jsonl"), labelled)),
        **{DOCS / "studies" / name: text for name, text in pages.written(DOCS / "studies").items()},
    }
    for path, text in wanted.items():
        if "--check" in sys.argv:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                sys.exit(f"{path.name} does not hold the results: run python docs/results.py")
        else:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
