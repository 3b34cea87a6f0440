"""``python -m runner``: the command line."""

from __future__ import annotations

import sys

from runner.cli import main

_DEPENDENCIES = frozenset(
    {
        "aiohttp", "annotated_types", "dotenv", "filelock", "genai_prices", "httpx", "httpx2", "hydra", "jinja2",
        "langchain_chroma", "langchain_openai", "mlflow", "numpy", "omegaconf", "openai", "pandas", "platformdirs",
        "pydantic", "rich", "scipy", "sklearn", "sqlalchemy", "statsmodels", "yaml", "yarl",
    }
)  # fmt: skip
"""What is installed with us, as it is imported. A module of the user's own that is missing is another matter."""


def _start() -> int:
    """The command line; a sentence where this Python is not the one that everything was installed for."""
    try:
        return main()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _DEPENDENCIES:
            raise
        print(
            f"runner's dependencies are not installed for this Python ({sys.executable} has no {error.name}): activate "
            "the environment (source .venv/bin/activate) or run make demo",
            file=sys.stderr,
        )
        return 1


if __name__ == "__main__":
    sys.exit(_start())
