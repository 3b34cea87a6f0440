"""``python -m runner.tracking.ui_server``: ``mlflow ui`` whose runs page has room for names.

MLflow gives every column 100 pixels as soon as there are more than a few: of a run's name two letters are left. The
server is MLflow's own; only its start page carries a style sheet more. Where a later MLflow lays its page out in
another way, the style finds nothing and does nothing.
"""

from __future__ import annotations

import sys
from typing import Any

APPLICATION = "runner.tracking.ui_server:app"
NAME_WIDTH_PX = 260
DATA_SET_WIDTH_PX = 150
METRIC_WIDTH_PX = 160
"""Wide enough for ``topicality/pass_rate`` with the arrow that sorts."""
TRACE_ID_WIDTH_PX = 100
_TABLE = "[role=table]:has(#run-name-cell)"
_BESIDE = "body:has(#run-name-cell)"
"""The page with the runs on the left and, on the right, the answers of those that are chosen."""
STYLE = f"""<style id="runner-columns">
{_TABLE} [role=columnheader]:nth-child(2),
{_TABLE} [role=cell]:nth-child(2):has(#run-name-cell) {{ min-width: {NAME_WIDTH_PX}px !important; }}
{_TABLE} [role=columnheader]:nth-child(6),
{_TABLE} [role=cell]:nth-child(6) {{ min-width: {DATA_SET_WIDTH_PX}px !important; }}
{_TABLE} [role=columnheader]:nth-child(n+7),
{_TABLE} [role=cell]:nth-child(n+7) {{ min-width: {METRIC_WIDTH_PX}px !important; }}
{_BESIDE} [role=columnheader][style*="--header-trace_id-size"],
{_BESIDE} [role=cell][style*="--col-trace_id-size"] {{ display: none !important; }}
{_BESIDE} [role=row]:has(+ * [style*="--header-trace_id-size"]) [style*="--header-BASE-group-size"] {{
  flex: 2 1 calc(var(--header-BASE-group-size) - {TRACE_ID_WIDTH_PX}px) !important; }}
</style>
"""
"""The columns before the seventh: box, name, status, type, time, data set. Beside the runs the answers have no room for
the ids of their traces, which every question's own page shows: the scores would be off screen."""


QUIET = """<script id="runner-quiet">
try {
  const opened = "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1";
  if (localStorage.getItem(opened) === null) localStorage.setItem(opened, "true");
} catch (refused) {}
</script>
"""
"""MLflow's assistant opens by itself in a browser that never had it, over a quarter of the page: the scores are then
off screen. So the browser remembers that it was open once; its button still opens it."""


def styled(page: bytes) -> bytes:
    """The start page with the script and the style sheet at the end of its head."""
    return page.replace(b"</head>", (QUIET + STYLE).encode() + b"</head>", 1)


def __getattr__(name: str) -> Any:
    """``app``: what the server process loads."""
    if name != "app":
        raise AttributeError(name)
    from mlflow.server import app as pages
    from mlflow.server.fastapi_app import app

    pages.after_request(_with_style)
    return app


def _with_style(response: Any) -> Any:
    from flask import request

    if request.path == "/" and response.mimetype == "text/html" and response.status_code == 200:
        response.direct_passthrough = False
        response.set_data(styled(response.get_data()))
        # A browser that kept the page of a plain `mlflow ui` on this port would otherwise be told that it is current.
        response.headers.pop("ETag", None)
        response.headers.pop("Last-Modified", None)
        response.headers["Cache-Control"] = "no-store"
    return response


def main() -> None:
    """``mlflow ui`` with these arguments, on the application above."""
    from mlflow import cli, server

    # MLflow takes an application of one's own by the name of an entry point, which only installed packages have. Where
    # a later MLflow starts its server in another way, the page comes as MLflow makes it.
    build = getattr(server, "_build_uvicorn_command", None)
    if build is not None:

        def with_our_application(*given: Any, **named: Any) -> list[str]:
            command: list[str] = build(*given, **named)
            return [*command[:-1], APPLICATION] if command[-1].endswith(":app") else command

        server._build_uvicorn_command = with_our_application
    cli.cli(["ui", *sys.argv[1:]])


if __name__ == "__main__":
    main()
