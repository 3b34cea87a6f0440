"""``runner questions traces``: answers of a service out of its MLflow traces into a file that can be judged."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from runner.config import home
from runner.errors import ConfigurationError, ExitCode, Problem
from runner.tracking.production import PassedOver, Wanted, traced_answers

USAGE = """runner questions traces --experiment NAME [--uri URI] [--since TIME] [--until TIME]
                        [--question PATH] [--answer PATH] [--reference EXPECTATION] [--output answers.jsonl]"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigurationError(f"questions traces: {message}\n{USAGE}")


def main(argv: Sequence[str]) -> int:
    """Writes one line a trace that holds a question and an answer; says how many did not, and how many failed."""
    parser = _Parser(prog="runner questions traces", add_help=False, allow_abbrev=False, usage=USAGE)
    parser.add_argument("--experiment", required=True)
    parser.add_argument("--uri")
    parser.add_argument("--since", type=_milliseconds)
    parser.add_argument("--until", type=_milliseconds)
    parser.add_argument("--question", default="")
    parser.add_argument("--answer", default="")
    parser.add_argument("--reference", default="")
    parser.add_argument("--output", type=Path, default=Path("answers.jsonl"))
    flags = parser.parse_args(list(argv))
    if flags.output.exists():
        raise ConfigurationError([Problem(str(flags.output), "exists already", "name another --output")])
    wanted = Wanted(flags.experiment, flags.since, flags.until, flags.question, flags.answer, flags.reference)
    rows = list(traced_answers(flags.uri, home(), wanted))
    usable = [row for row in rows if not isinstance(row, PassedOver)]
    if usable:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in usable)
        flags.output.write_text(text, encoding="utf-8", errors="backslashreplace")
    passed_over = len(rows) - len(usable)
    expected = sum("reference" in row for row in usable)
    beside = f" ({expected} of them with a reference answer)" if expected else ""
    failed = sum(row is PassedOver.ERROR for row in rows)
    why = f" ({failed} of them ended in an error)" if failed else ""
    print(f"{len(rows)} traces, {len(usable)} with question and answer{beside}, {passed_over} passed over{why}")
    if not usable:
        looked = len(rows) > failed
        what = "holds no question and answer" if looked else "has no trace in this window"
        if failed and not looked:
            what = f"holds no answer: all {failed} traces in this window ended in an error"
        remedy = "say where they stand in the root span: --question PATH --answer PATH" if looked else ""
        raise ConfigurationError([Problem(flags.experiment, what, remedy)])
    print(f"judge them: python -m runner questions=traces questions.path={flags.output} generator=recorded \\")
    judges = ["topicality"]
    judges += ["grounding"] if any(row["contexts"] for row in usable) else []
    judges += ["reference_match"] if expected else []
    print(f"  knowledge_base=none retriever=none 'judge=[{','.join(judges)}]'")
    return ExitCode.DONE


def _milliseconds(text: str) -> int:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a moment such as 2026-11-01T08:00") from None
    return int((at.replace(tzinfo=UTC) if at.tzinfo is None else at).timestamp() * 1000)
