"""Runs the benchmarks one after the other: ``python -m benchmarks [NAME ...]``; without a name all but the longest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

BENCHMARKS: Mapping[str, str] = {
    "whole_run": "a whole run beside the ideal, again from the journal, and again from the ledger",
    "door": "the door beside a bare client, from the ledger, and under kill -9",
    "coverage": "how often 95 % intervals on clustered data hold the truth (simulated)",
    "statistics_scale": "100 configurations of 10,000 questions compared on one core",
    "index": "an index of 100,000 chunks: built, reopened, asked (long: only when named)",
}
LONG = frozenset({"index"})


def main(names: list[str]) -> int:
    """The number of benchmarks that failed."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 1
    failed = 0
    for name in names or [name for name in BENCHMARKS if name not in LONG]:
        print(f"== {name}: {BENCHMARKS[name]}", flush=True)
        failed += bool(subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
