"""The verb ``questions``: drafts a question set, shows its cost first, and takes what a human accepted."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from runner.calls import open_door, request_key
from runner.calls.prices import show as dollars
from runner.config import home
from runner.config.arguments import parse_arguments
from runner.config.composition import prepare
from runner.config.schema import Config
from runner.errors import ConfigurationError, ExitCode, Problem
from runner.knowledge import load_documents
from runner.knowledge.drafting import PARAPHRASE, Drafter, DraftResult, DraftSettings
from runner.knowledge.review import accept_review, write_review
from runner.records import Document, Stage, total_money
from runner.sweeps.announcing import agreed as agrees
from runner.sweeps.announcing import announcement
from runner.sweeps.estimates import Estimator
from runner.sweeps.plan_totals import Walk, summary

_USAGE = """runner questions [--per-document N] [--unanswerable N] [--paraphrase low|medium|high]
                 [--output REVIEW.csv] [--yes] [overrides]
       runner questions accept REVIEW.csv [QUESTIONS.jsonl]
       runner questions traces --experiment NAME [--since TIME] [--until TIME] [--output answers.jsonl]"""


def main(argv: Sequence[str]) -> int:
    """``runner questions``: drafts; ``accept FILE``: takes the accepted ones; ``traces``: a service's answers."""
    if argv and argv[0] == "traces":
        from runner.sweeps.traced import main as from_traces

        return from_traces(argv[1:])
    if argv and argv[0] == "accept":
        return _accept(argv[1:])
    flags, rest = _parser().parse_known_args(list(argv))
    if flags.output.exists():
        problem = Problem(str(flags.output), "exists already and may hold your decisions", "name another --output")
        raise ConfigurationError([problem])
    arguments = parse_arguments(rest)
    if arguments.multirun or arguments.information:
        raise ConfigurationError(f"questions drafts one set:\n{_USAGE}")
    (job,) = prepare(arguments.overrides, multirun=False, source=arguments.source)
    if job.config.generator.kind != "model":
        what = f"{job.config.generator.kind} cannot write questions"
        raise ConfigurationError([Problem("generator.kind", what, "choose a model, for example with stack=openai")])
    documents = load_documents(job.config.knowledge_base)
    settings = DraftSettings(flags.per_document, flags.unanswerable, flags.paraphrase)
    result = asyncio.run(_draft(job.config, documents, settings, agreed=flags.yes))
    if result is None:
        print("nothing was asked and nothing was paid")
        return ExitCode.DONE
    write_review(result.drafts, flags.output)
    _report(result, flags.output)
    return ExitCode.INCOMPLETE if result.problems else ExitCode.DONE


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigurationError(f"questions: {message}\n{_USAGE}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(add_help=False, allow_abbrev=False, usage=_USAGE)
    parser.add_argument("--per-document", type=_count, default=3)
    parser.add_argument("--unanswerable", type=_count, default=0)
    parser.add_argument("--paraphrase", choices=tuple(PARAPHRASE), default="medium")
    parser.add_argument("--output", type=Path, default=Path("questions_review.csv"))
    parser.add_argument("--yes", action="store_true")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 100")
    return int(text)


async def _draft(
    config: Config, documents: Sequence[Document], settings: DraftSettings, *, agreed: bool
) -> DraftResult | None:
    async with open_door(config.calls, config.budget, config.prices, home=home()) as door:
        drafter = Drafter(documents, settings, config.generator, door)
        requests = drafter.requests()
        keys = [request_key(request) for request in requests]
        held = door.held(keys)
        estimator = Estimator(door.history(), config.prices)
        estimates = [
            estimator.estimate(request, Stage.OTHER, key=key, held=key in held)
            for request, key in zip(requests, keys, strict=True)
        ]
        walk = Walk()
        walk.add(estimates)
        plan = summary("questions", walk, {})
        print(announcement(plan))
        if not agreed and not await asyncio.to_thread(agrees, plan):
            return None
        return await drafter.draft()


def _report(result: DraftResult, review: Path) -> None:
    flagged = sum(bool(draft.flags) for draft in result.drafts)
    paid = total_money(call.new_cost for call in result.calls)
    print(f"{len(result.drafts)} questions drafted, {flagged} of them flagged; paid now: {dollars(paid)}")
    for problem in result.problems:
        print(f"  - {problem}")
    print(f"review them: write yes or no into the column accept of {review}, then")
    print(f"  python -m runner questions accept {review} questions.jsonl")


def _accept(argv: Sequence[str]) -> int:
    if not 1 <= len(argv) <= 2:
        raise ConfigurationError(f"questions accept wants one or two files:\n{_USAGE}")
    review = Path(argv[0])
    output = Path(argv[1]) if len(argv) == 2 else Path("questions.jsonl")
    if output.exists():
        raise ConfigurationError([Problem(str(output), "exists already", "name another file")])
    found = accept_review(review, output)
    print(f"{output}: {found.accepted} questions accepted, {found.struck} struck out, {found.undecided} undecided")
    print(f"  python -m runner questions=file questions.path={output}")
    return ExitCode.DONE
