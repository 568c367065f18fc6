"""The app's server: whom it refuses, and releases that are made once, whatever happens."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from html import escape
from itertools import product
from pathlib import Path

import httpx
import pytest

import nolook
from nolook.report.findings import plain
from tests.app.served import Server, ended, prepare, server, write_table
from tests.report.command import run

COUNTS = {"by": "ward", "epsilon": "0,5", "rows_per_unit": "weights"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    write_table(folder / "people.csv")
    (folder.parent / "secret.json").write_text('"secret"')
    return folder


@pytest.fixture(scope="module")
def running(home):
    with server(home) as started:
        yield started


@pytest.fixture(scope="module")
def caller(running, home):
    with running.caller() as known:
        prepare(home, known)
        yield known


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def asked(caller, given, session="/people"):
    """Ask a question and have it run; return the address of the run."""
    answer = caller.post(f"{session}/ask/tabulate", data=given | {"run": "yes"})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def entries(folder):
    with nolook.Ledger(folder / "people.nolook" / "budget.ledger") as ledger:
        return ledger.history()


REFUSED = {
    "no token": {"cookies": None},
    "a wrong cookie": {"cookies": "wrong"},
    "another origin": {"headers": {"origin": "https://evil.example"}},
    "no origin": {"headers": {"origin": "null"}},
    "another port": {"headers": {"origin": "http://127.0.0.1:1"}},
    "another site, without an origin": {"headers": {"sec-fetch-site": "cross-site"}},
    "another host": {"headers": {"host": "evil.example"}},
    "another host, rebound": {"headers": {"host": "evil.example:80"}},
}


PLACES = [*product(["GET", "POST"], ["/", "/people/ask/tabulate", "/app.js", "/people/ledger"])]


@pytest.mark.parametrize("how", REFUSED)
def test_strangers_are_refused_and_learn_and_change_nothing(running, caller, home, how):
    before = files(home)
    change = {"cookies": "known", "headers": {}} | REFUSED[how]
    cookie = {"known": dict(caller.cookies), "wrong": dict.fromkeys(caller.cookies, "0" * 64)}
    with httpx.Client(base_url=running.base, cookies=cookie.get(change["cookies"], {})) as other:
        for method, page in PLACES:
            headers = ({"origin": running.base} if method == "POST" else {}) | change["headers"]
            body = {"data": COUNTS | {"run": "yes"}} if method == "POST" else {}
            answer = other.request(method, page, headers=headers, **body)
            assert answer.status_code in {403, 421}, (method, page)
            assert answer.text.startswith("nolook app: ")
            assert "set-cookie" not in answer.headers
    assert files(home) == before


def test_a_form_without_an_origin_is_refused(running, caller):
    with httpx.Client(base_url=running.base, cookies=dict(caller.cookies)) as other:
        assert other.post("/people/ask/tabulate", data=COUNTS).status_code == 403


def test_the_address_works_once(running, caller):
    with httpx.Client(base_url=running.base) as other:
        assert other.get(f"/?token={running.token}").status_code == 403
        assert not other.cookies
    assert caller.get(f"/?token={running.token}").headers["location"] == "/"


@pytest.mark.parametrize(
    "path",
    [
        "/people/files/../../secret.json",
        "/people/files/..%2f..%2fsecret.json",
        "/people/files/%2e%2e%2f%2e%2e%2fsecret.json",
        "/people/files/..%5c..%5csecret.json",
        "/people/files//etc/passwd",
        "/people/files/%2fetc%2fpasswd",
        "/people/files/budget.ledger",
        "/people/files/session.json",
        "/people/files/runs",
        "/../secret.json",
        "/..%2f/schema",
        "/people%2f../schema",
        "/people/runs/..%2f..%2f..",
        "/people/ask/..",
        "/people/ask/audit",
        "/.nolook",
    ],
)
def test_no_path_leads_out_of_the_session(running, caller, path):
    host, _, port = running.base.removeprefix("http://").partition(":")
    cookie = "; ".join(f"{name}={value}" for name, value in caller.cookies.items())
    # Which leaves the path as it is.
    with closing(http.client.HTTPConnection(host, int(port), timeout=20)) as asking:
        asking.request("GET", path, headers={"cookie": cookie})
        answer = asking.getresponse()
        text = answer.read().decode()
    assert answer.status == 404
    assert "secret" not in text.replace(path, "")
    assert "root:" not in text


@pytest.mark.parametrize("told", [True, False])
def test_a_form_of_ten_megabytes_is_refused_and_not_read(running, caller, home, told):
    before = files(home)

    def pieces():
        for _ in range(160):
            yield b"by=" + b"w" * 65_533

    body = b"by=" + b"w" * 10_000_000
    kind = {"content-type": "application/x-www-form-urlencoded"}
    try:
        answer = caller.post(
            "/people/ask/tabulate", content=body if told else pieces(), headers=kind
        )
        assert answer.status_code == 413
    except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
        pass  # the server hung up
    assert caller.get("/people").status_code == 200
    assert files(home).keys() == before.keys() | {
        home / "people.nolook" / f"session.{kind}" for kind in ("py", "sh")
    }


def test_no_field_takes_a_file(caller):
    answer = caller.post("/people/ask/tabulate", files={"by": ("x.csv", b"a,b")}, data=COUNTS)
    assert answer.status_code == 400


def test_pages_may_load_from_the_server_only_and_are_kept_nowhere(caller):
    for page in ("/", "/people", "/people/ledger"):
        headers = caller.get(page).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_it_listens_on_this_machine_only(running):
    assert running.base.startswith("http://127.0.0.1:")
    listening = Path(f"/proc/{running.process.pid}/net/tcp").read_text()
    port = f":{int(running.base.rpartition(':')[2]):04X} "
    addresses = {
        line.split()[1] for line in listening.splitlines() if port in line and " 0A " in line
    }
    assert addresses <= {f"0100007F{port.strip()}"}


@pytest.mark.slow
def test_a_release_from_the_form_to_its_files_and_a_script_that_makes_it_again(
    caller, home, tmp_path
):
    address = asked(caller, COUNTS)
    page = ended(caller, address)
    headline = nolook.load(home / "people.nolook" / f"{address.rpartition('/')[2]}.json").content()
    assert all(escape(plain(line)) in page for line in headline.conclusion)
    assert "See the release" in page
    name = address.rpartition("/")[2]
    assert name in (home / "people.nolook" / "session.sh").read_text()  # no other page was seen
    report = caller.get(f"/people/files/{name}.html")
    assert "by group" in report.text
    assert "sandbox" in report.headers["content-security-policy"]
    assert caller.get(f"/people/files/{name}.csv?download").text.startswith("ward;")
    overview = caller.get("/people").text
    assert name in overview
    spent = entries(home)
    (tmp_path / "people.nolook").mkdir()
    for file in ("people.csv", "people.nolook/schema.toml"):
        (tmp_path / file).write_bytes((home / file).read_bytes())
    script = tmp_path / "again"
    for ending, program in (("sh", "sh"), ("py", "python")):
        script.write_bytes(caller.get(f"/people/files/session.{ending}?download").content)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        env = os.environ | {"PATH": path}
        subprocess.run([program, script], cwd=tmp_path, env=env, check=True)
        made, first = (
            nolook.load(folder / "people.nolook" / f"{name}.json") for folder in (tmp_path, home)
        )
        for what in ("guarantee", "parts", "missing", "columns", "dates"):
            assert getattr(made.content(), what) == getattr(first.content(), what)
        again = entries(tmp_path)
        assert [(e.cost, e.description, e.details) for e in again] == [
            (e.cost, e.description, e.details) for e in spent
        ]
        for old in (tmp_path / "people.nolook").glob("[bt]*"):
            old.unlink()


def test_a_reload_a_second_tab_and_another_server_charge_nothing_more(running, caller, home):
    before = len(entries(home))
    given = COUNTS | {"epsilon": "0.25"}
    addresses = {asked(caller, given) for _ in range(3)}
    with server(home) as second, second.caller() as other:
        addresses.add(asked(other, given))
        (address,) = addresses
        ended(other, address)
        addresses.add(asked(other, given))
        assert "costs nothing more" in other.post("/people/ask/tabulate", data=given).text
    assert len(addresses) == 1
    assert len(entries(home)) == before + 1


def test_a_server_that_is_killed_loses_no_release(tmp_path):
    write_table(tmp_path / "people.csv")
    first = Server(tmp_path)
    with first.caller() as caller:
        prepare(tmp_path, caller)
        address = asked(caller, COUNTS)
    first.kill()
    with server(tmp_path) as second, second.caller() as caller:
        assert asked(caller, COUNTS) == address
        assert "See the release" in ended(caller, address)
    assert [entry.state for entry in entries(tmp_path)] == ["complete"]


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.005)


@pytest.mark.slow
def test_a_release_that_is_killed_once_charged_is_charged_again_only_if_asked(tmp_path):
    write_table(tmp_path / "people.csv", 300_000)
    with server(tmp_path) as started, started.caller() as caller:
        prepare(tmp_path, caller)
        address = asked(caller, COUNTS)
        folder = tmp_path / "people.nolook" / "runs" / address.rpartition("/")[2]
        until((folder / "process.json").exists)
        number = int((folder / "process.json").read_text().partition(":")[2].strip(" }\n"))
        until(lambda: entries(tmp_path))
        os.kill(number, signal.SIGKILL)
        page = ended(caller, address)
        assert "the process was stopped" in page
        assert "The ledger was charged" in page
        assert asked(caller, COUNTS) == address  # as by a reload
        time.sleep(1)
        assert len(entries(tmp_path)) == 1
        assert "See the release" in ended(caller, asked(caller, COUNTS | {"again": "1"}))
        assert [entry.state for entry in entries(tmp_path)] == ["reserved", "complete"]


@pytest.mark.slow
def test_a_cancelled_release_says_what_it_cost(tmp_path):
    write_table(tmp_path / "people.csv", 300_000)
    with server(tmp_path) as started, started.caller() as caller:
        prepare(tmp_path, caller)
        address = asked(caller, COUNTS)
        folder = tmp_path / "people.nolook" / "runs" / address.rpartition("/")[2]
        until((folder / "step.json").exists)
        assert caller.post(address).status_code == 303
        page = ended(caller, address)
        charged = len(entries(tmp_path))
        assert "interrupted; " in page
        assert ("Nothing was charged" in page) == (charged == 0)
        assert ("was charged epsilon 0.5" in page) == (charged == 1)
        assert "See the release" not in page


@pytest.mark.slow
def test_a_table_that_cannot_be_read_begins_nothing(tmp_path):
    (tmp_path / "broken.csv").write_text("1,2\n3,4\n")
    done = run("app", "broken.csv", "--no-browser", cwd=tmp_path)
    assert done.status == 2
    assert done.err.count("\n") == 1
    with server(tmp_path) as started, started.caller() as caller:
        for table in ("broken.csv", "nowhere.csv", ""):
            page = caller.post("/", data={"table": table})
            assert 'role="alert"' in page.text
    assert [path.name for path in tmp_path.iterdir()] == ["broken.csv"]


def test_a_port_that_is_taken_is_one_line(running, tmp_path):
    port = running.base.rpartition(":")[2]
    done = run("app", "--no-browser", "--port", port, cwd=tmp_path)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert done.err.startswith(f"nolook: error: --port is {port}, ")
