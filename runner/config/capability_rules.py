"""Rules of ``calls.capabilities``: names of parameters, and no contradictions."""

from __future__ import annotations

from collections.abc import Iterator

from runner.config import schema
from runner.config.spelling import did_you_mean
from runner.errors import Problem


def capability_problems(config: schema.Config) -> Iterator[Problem]:
    """Parameters that nothing can leave out, and models of which two things are said."""
    named = [said.model for said in config.calls.capabilities]
    for model in sorted({model for model in named if named.count(model) > 1}):
        yield Problem("calls.capabilities", f"{model} stands there more than once")
    for index, said in enumerate(config.calls.capabilities):
        where = f"calls.capabilities[{index}]"
        for name in sorted({*said.refuses, *said.takes} - set(schema.CAPABILITIES)):
            remedy = did_you_mean(name, schema.CAPABILITIES)
            yield Problem(where, f"{name} is no parameter that can be left out", remedy)
        for name in sorted({*said.refuses} & {*said.takes}):
            yield Problem(where, f"{said.model} cannot both take and refuse {name}")
