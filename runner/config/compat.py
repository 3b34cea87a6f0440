"""The differences between Hydra 1.3 and 1.4 that touch us, in one place."""

from __future__ import annotations

from typing import Any


def version_arguments() -> dict[str, Any]:
    """``version_base``, which 1.3 warns about when it is missing and 1.4 warns about when it is given."""
    from hydra import __version__

    major, minor = (int(part) for part in __version__.split(".")[:2])
    return {"version_base": "1.3"} if (major, minor) < (1, 4) else {}
