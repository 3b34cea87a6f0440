"""From ``module:function`` to the function: an import of the user's own module, nothing is evaluated or called.

Modules in the working directory, beside the user's conf and in the shipped experiments are found first; any other name
is an ordinary import of an installed module. A module whose file has changed since it was imported is imported again,
so that a notebook never judges the code of an hour ago under the name of the present one.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.config.applications import TARGET, module_file
from runner.errors import ConfigurationError, Problem

WHERE = "generator.target"
OFFERED = ("client", "contexts", "model", "question", "settings")
"""What a callable may take by name, besides the question's text, which is its first parameter."""

_lock = threading.RLock()
_imported: dict[Path, str] = {}


@dataclass(frozen=True, slots=True)
class Target:
    """A callable, and what it wants."""

    function: Callable[..., Any]
    asynchronous: bool
    wants: frozenset[str]
    """Of ``OFFERED``."""


def find_target(name: str) -> Target:
    """The callable of that name. Raises ConfigurationError where there is none, or it cannot take a question."""
    matched = TARGET.match(name)
    if matched is None:
        what = f"{name!r} is not of the form module:function"
        raise _problem(what, "write for example generator.target=my_application:answer")
    found: Any = _module(name, matched["module"])
    for part in matched["attribute"].split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise _problem(f"{matched['module']} has no {matched['attribute']}", "correct the name") from None
    if not callable(found) or inspect.isclass(found):
        raise _problem(f"{name} is not a function, it is {_article(found)}", "name a function that takes a question")
    asynchronous = inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(
        getattr(found, "__call__", None)  # noqa: B004 (an object with an async __call__)
    )
    return Target(found, asynchronous, _wants(name, found))


def _module(name: str, module: str) -> Any:
    place = module_file(name)
    with _lock:
        try:
            return importlib.import_module(module) if place is None else _fresh(module, *place)
        except ModuleNotFoundError as error:
            if error.name and (module == error.name or module.startswith(f"{error.name}.")):
                looked = "in the working directory, beside your conf and among the installed packages"
                raise _problem(f"there is no module {module}", f"looked {looked}") from None
            raise _failed(module, error) from error
        except (Exception, SystemExit) as error:
            raise _failed(module, error) from error


def _fresh(module: str, folder: Path, file: Path) -> Any:
    # The module may import its neighbours, also later, inside its functions.
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    known = sys.modules.get(module)
    same_file = known is not None and _same(getattr(known, "__file__", None), file)
    if same_file and _imported.get(file, digest) == digest:
        _imported[file] = digest
        return known
    importlib.invalidate_caches()
    if known is not None:
        del sys.modules[module]
    if sys.path[0] != str(folder):
        sys.path.insert(0, str(folder))
    top = sys.modules.get(module.partition(".")[0])
    if "." in module and top is not None and str(folder) not in str(getattr(top, "__path__", "")):
        # A package of this name from another folder hides ours.
        del sys.modules[module.partition(".")[0]]
    # Bytecode is dated to the second: a file that changed twice in one would come back as it was.
    made = Path(importlib.util.cache_from_source(str(file)))
    made.unlink(missing_ok=True)
    found = importlib.import_module(module)
    _imported[file] = digest
    return found


def _same(known: str | None, file: Path) -> bool:
    return known is not None and Path(known).resolve() == file.resolve()


def _wants(name: str, function: Callable[..., Any]) -> frozenset[str]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return frozenset()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not parameters or parameters[0].kind not in (*positional, inspect.Parameter.VAR_POSITIONAL):
        raise _problem(f"{name} takes no question", "its first parameter must be the question's text")
    wants: set[str] = set()
    for parameter in parameters[1:]:
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue
        offered = parameter.name in OFFERED and parameter.kind is not inspect.Parameter.POSITIONAL_ONLY
        if offered:
            wants.add(parameter.name)
        elif parameter.default is inspect.Parameter.empty:
            what = f"{name} needs {parameter.name}, and nobody can give it"
            raise _problem(what, f"after the question it may take any of {', '.join(OFFERED)}")
    return frozenset(wants)


def _failed(module: str, error: BaseException) -> ConfigurationError:
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    # The first frame is ours.
    where = f" ({Path(own[-1].filename).name} line {own[-1].lineno})" if len(own) > 1 else ""
    what = f"{module} cannot be imported: {type(error).__name__}: {error}{where}"
    return _problem(what, "mend the module; nothing of it was called")


def _article(found: object) -> str:
    return "a class" if inspect.isclass(found) else f"of type {type(found).__name__}"


def _problem(what: str, remedy: str) -> ConfigurationError:
    return ConfigurationError([Problem(WHERE, what, remedy)])
