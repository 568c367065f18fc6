"""The server of the pages: addresses and what they do. It listens on this machine only."""

from __future__ import annotations

import shlex
import socket
import sys
import webbrowser
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from nolook._language import option_names
from nolook._version import __version__
from nolook.app.asking import ask, mark
from nolook.app.guards import Guard
from nolook.app.questions import QUESTIONS, Field
from nolook.app.schema_form import cards, read_form
from nolook.app.session import Session
from nolook.errors import NolookError, ParameterError
from nolook.formats.files import write_text
from nolook.owner.draft import as_toml
from nolook.privacy.guarantee import Budget
from nolook.privacy.ledger import Ledger
from nolook.report._templates import template
from nolook.report.ledger_page import render_ledger_page
from nolook.report.ledger_status import LedgerStatus
from nolook.tables.folders import ENDINGS
from nolook.tables.schema import Schema

__all__ = ["make_app", "serve"]

_GRACE = 2  # seconds to finish requests after Ctrl-C
_DATABASES = {".duckdb": "duckdb:", ".db": "duckdb:", ".sqlite": "sqlite:"}
#: For pages of releases, which hold their own style and load nothing.
_RELEASED = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
_BUDGET = (
    ("epsilon", "The total privacy loss: 1 if the table could harm people, rarely above 3.", ""),
    ("delta", "With this probability the bound may fail; well below 1 / rows.", "1e-5"),
)
Form: TypeAlias = Mapping[str, list[str]]


def _start(request: Request, form: Form) -> Response:
    """Choose a table of this folder, or another by its address."""
    given = {"table": "", "address": "", "from_table": ""}
    given |= {name: values[0].strip() for name, values in form.items()}
    error = ""
    if request.method == "POST":
        try:
            if not (table := given["address"] or given["table"]):
                raise ParameterError("no table is chosen (choose one of the list)")
            return _to(Session.of(table, given["from_table"] or None), "schema")
        except NolookError as refused:
            error = str(refused)
    here = [each for each in sorted(Path().iterdir()) if not each.name.startswith(".")]
    tables = [_DATABASES.get(each.suffix, "") + str(each) for each in here if _is_table(each)]
    kept = Session.all().values()
    return _page("start.html", "Choose a table", tables=tables, kept=kept, given=given, error=error)


def _is_table(path: Path) -> bool:
    if path.is_dir():
        return path.suffix != ".nolook" and any(
            map(_is_table, filter(Path.is_file, path.iterdir()))
        )
    return path.suffix in _DATABASES or path.name.lower().endswith(ENDINGS)


def _overview(request: Request, form: Form) -> Response:  # noqa: ARG001
    """Show the questions, the runs and the files."""
    session = _session(request)
    session.write_scripts()
    return _page(
        "overview.html", "What do you want to know?", session, questions=QUESTIONS.values()
    )


def _schema(request: Request, form: Form) -> Response:
    """Correct what was drafted of the columns."""
    session = _session(request, complete=False)
    draft = session.draft()
    content = session.schema.to_dict() if session.schema else draft.content
    error = ""
    if request.method == "POST":
        content = read_form(content, form)
        try:
            if "checked" not in form:
                raise ParameterError("confirm below that you have read every line")  # noqa: TRY301
            write_text(session.schema_file, as_toml(Schema.from_dict(content).to_dict()))
            return _to(session)
        except ParameterError as refused:
            error = str(refused)
    return _page(
        "schema.html",
        "Correct the columns",
        session,
        cards=cards(content, draft.levels, error),
        notes=draft.found,
        error=error,
        command=shlex.join(["nolook", "schema", session.table, "-o", str(session.schema_file)]),
        python=f'schema = nolook.Schema.read("{session.schema_file}")\n',
    )


def _budget(request: Request, form: Form) -> Response:
    """Decide on the total budget, once."""
    session = _session(request, complete=False)
    fields = [
        Field(name, f"--{name}", name.capitalize(), words, "float", "", form.get(name, [usual])[0])
        for name, words, usual in _BUDGET
    ]
    error = ""
    if request.method == "POST":
        try:
            words = [each.arguments() for each in fields]
            amounts = [float(own[0].partition("=")[2]) if own else 0.0 for own in words]
            with option_names({"epsilon": "--epsilon", "delta": "--delta"}):
                budget = Budget(*amounts)
            Ledger.create(session.ledger, budget, name=session.name).close()
            return _to(session)
        except NolookError as refused:
            fields, error = mark(fields, str(refused))
    own = [str(each.value or "...") for each in fields]
    return _page(
        "budget.html",
        "Decide on a total budget",
        session,
        fields=fields,
        error=error,
        command=f"nolook ledger create {session.ledger} -e {own[0]} -d {own[1]}",
        python=f'nolook.Ledger.create("{session.ledger}", nolook.Budget({", ".join(own)}))\n',
    )


def _ledger(request: Request, form: Form) -> Response:  # noqa: ARG001
    """Show the ledger as its own page does."""
    with Ledger(_session(request).ledger) as ledger:
        return HTMLResponse(render_ledger_page(ledger), headers=_RELEASED)


def _ask(request: Request, form: Form) -> Response:
    """Fill in a question, see what it costs, and run it."""
    session, command = _session(request), request.path_params["command"]
    if command not in QUESTIONS:
        raise HTTPException(404)
    query = {name: request.query_params.getlist(name) for name in request.query_params}
    asked = ask(session, QUESTIONS[command], form or query, check=bool(form))
    if "run" in form and (asked.sections or asked.made):
        asked.start()
        return _to(session, f"runs/{asked.output}")
    return _page("ask.html", asked.question.title, session, asked=asked)


def _run(request: Request, form: Form) -> Response:  # noqa: ARG001
    """Show a run's progress or result; cancel it."""
    session = _session(request)
    run = session.runs().get(request.path_params["run"])
    if run is None:
        raise HTTPException(404)
    if request.method == "POST":
        run.cancel()
        return _to(session, f"runs/{run.name}")
    state = run.state
    charged = state != "running" and run.charged(session.ledger)
    return _page("run.html", run.about["title"], session, run=run, state=state, charged=charged)


def _file(request: Request, form: Form) -> Response:  # noqa: ARG001
    """Give a file of the session: shown if it is a report, else downloaded."""
    path = _session(request).files().get(request.path_params["file"])
    if path is None:
        raise HTTPException(404)
    if path.suffix == ".html" and "download" not in request.query_params:
        return HTMLResponse(path.read_bytes(), headers=_RELEASED)
    return FileResponse(path, filename=path.name)


class _Incomplete(Exception):  # noqa: N818 -- a way to another page
    """A step that comes before the one that was asked for."""


def _session(request: Request, *, complete: bool = True) -> Session:
    found = Session.all().get(request.path_params["session"])
    if found is None:
        raise HTTPException(404)
    for step, done in (("schema", found.schema), ("budget", found.ledger.is_file())):
        if complete and not done:
            raise _Incomplete(f"/{found.name}/{step}")
    return found


def _to(session: Session, page: str = "") -> Response:
    return RedirectResponse(f"/{session.name}/{page}".removesuffix("/"), 303)


def _page(
    name: str, title: str, session: Session | None = None, *, status: int = 200, **values: object
) -> Response:
    left: tuple[tuple[str, str], ...] = ()
    if session is not None and session.ledger.is_file():
        with Ledger(session.ledger) as ledger:
            left = LedgerStatus.of(ledger).left
    values |= {"title": title, "session": session, "left": left, "version": __version__}
    return HTMLResponse(template(name, "nolook.app").render(**values), status)


def _failed(_: Request, error: Exception) -> Response:
    """Answer with the one line of an error that no field is about."""
    status, text = 400, str(error)
    if isinstance(error, _Incomplete):
        return RedirectResponse(text, 303)
    if isinstance(error, HTTPException):
        status, text = error.status_code, error.detail
    elif not isinstance(error, NolookError):  # its message may quote data
        status, text = 500, f"internal error: {type(error).__name__} (NOLOOK_DEBUG=1 shows more)"
    return _page("error.html", "That did not work", error=text, status=status)


async def _asset(request: Request) -> Response:
    """Return the style, that of reports and more, the script, or no picture."""
    own = files("nolook.app").joinpath("templates")
    if request.url.path == "/app.js":
        return Response(own.joinpath("app.js").read_text("utf-8"), media_type="text/javascript")
    style = files("nolook.report").joinpath("templates", "report.css").read_text("utf-8")
    return Response(style + own.joinpath("app.css").read_text("utf-8"), media_type="text/css")


def make_app() -> Starlette:
    """Return the application for the current folder, without its guard."""

    def route(path: str, view: Callable[[Request, Form], Response], *methods: str) -> Route:
        async def answer(request: Request) -> Response:
            form: dict[str, list[str]] = {}
            if request.method == "POST":
                async with request.form(max_files=0, max_fields=20_000) as entered:
                    for key, value in entered.multi_items():
                        form.setdefault(key, []).append(str(value))
            return await run_in_threadpool(view, request, form)

        return Route(path, answer, methods=["GET", *methods])

    routes = [
        route("/", _start, "POST"),
        *(Route(path, _asset) for path in ("/app.css", "/app.js")),
        route("/{session}", _overview),
        route("/{session}/schema", _schema, "POST"),
        route("/{session}/budget", _budget, "POST"),
        route("/{session}/ledger", _ledger),
        route("/{session}/ask/{command}", _ask, "POST"),
        route("/{session}/runs/{run}", _run, "POST"),
        route("/{session}/files/{file}", _file),
    ]
    kinds = (HTTPException, NolookError, _Incomplete, Exception)
    handlers: dict[Any, Any] = dict.fromkeys(kinds, _failed)
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return app


def serve(table: str | None, from_table: str | None, port: int, *, browser: bool) -> None:
    """Answer requests until Ctrl-C; begin a session of the table, if one is given."""
    if table is not None:
        Session.of(table, from_table)
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError):
        raise ParameterError(
            f"--port is {port}, which cannot be listened at; expected a free port, or 0 for any"
        ) from None
    port = listener.getsockname()[1]
    guard = Guard(make_app(), port)
    address = f"http://127.0.0.1:{port}/?token={guard.token}"
    sys.stdout.write(f"nolook is open at {address}\nCtrl-C ends it.\n")
    sys.stdout.flush()
    if browser:
        webbrowser.open(address)
    config = uvicorn.Config(
        guard,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE,
    )
    uvicorn.Server(config).run([listener])
