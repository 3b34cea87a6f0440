"""What ``python -m runner --help`` prints: verbs, groups with their options, flags and examples."""

from __future__ import annotations

from collections.abc import Mapping

from runner.config.paths import GROUPS, shipped_conf, user_conf

_USAGE = """\
usage: python -m runner [verb] [group=option] [key=value] [flags]

Without a verb: answers every question, has every answer judged, and leaves an MLflow run. With -m: once for every
combination of the values that are listed with commas.
"""

_FLAGS = """\
Flags
  -m                       sweep: python -m runner -m retriever.top_k=1,3,5
  --quiet                  no progress and no notes: only what came out, and what went wrong
  --cfg job                print the composed configuration (with --resolve: everything filled in)
  --info [defaults|...]    where the configuration comes from: defaults, defaults-tree, config, searchpath, plugins
  --config-dir FOLDER      a folder of configuration that is found before all others
  -sc install=bash         tab completion: eval "$(runner -sc install=bash)"; also zsh and fish
  --hydra-help             Hydra's own flags
  --version

Every key and its values: python -m runner --cfg job
"""

_EXAMPLES = """\
Examples
  python -m runner                                       the default stack, no key needed
  python -m runner stack=extractive                      no model at all: seconds
  python -m runner -m experiment=top_k                   three runs over retriever.top_k
  python -m runner -m experiment=top_k stack=openai      the same with OPENAI_API_KEY
  python -m runner 'judge=[grounding]' judges.grounding.repeats=3
  python -m runner -m rubric@judges.topicality.rubric=topicality_v1,topicality_v2
  python -m runner knowledge_base=folder knowledge_base.path=my_documents questions=file questions.path=my_questions.csv

Exit codes: 0 done, 1 bad configuration (nothing paid), 3 incomplete, 4 a gate failed, 5 budget reached, 130 interrupted
"""


def help_text(verbs: Mapping[str, str]) -> str:
    """The whole text; ``verbs`` maps each verb that there is to what it does."""
    parts = [_USAGE]
    if verbs:
        width = max(len(name) for name in verbs)
        parts.append("Verbs\n" + "".join(f"  {name.ljust(width)}  {what}\n" for name, what in verbs.items()))
    parts.append(_groups())
    parts.extend([_FLAGS, _EXAMPLES])
    return "\n".join(parts).rstrip()


def verb_help(name: str, what: str) -> str:
    """What ``python -m runner VERB --help`` prints for a verb that takes overrides."""
    usage = f"usage: python -m runner {name} [-m] [group=option] [key=value]\n\n{what}\n"
    return "\n".join([usage, _groups()]).rstrip()


def _groups() -> str:
    mine = user_conf()
    folders = [folder for folder in (mine, shipped_conf()) if folder is not None]
    lines = []
    for group in GROUPS:
        options = sorted({file.stem for folder in folders for file in (folder / group).glob("*.yaml")})
        if options:
            lines.append(f"  {group.ljust(14)}  {', '.join(options)}\n")
    head = "Groups (group=option; yours come from " + (str(mine) if mine else "./conf or $RUNNER_CONF") + ")\n"
    return head + "".join(lines)
