"""A real server and whatever may be sent to it: clear refusals, nothing stored, still up."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
import time
from base64 import b64encode
from concurrent.futures import Future

import httpx
import pytest
from attrs import evolve

from nolook.errors import ParameterError
from nolook.federated.sealing import Unsealer, seal
from nolook.federated.server.app import Rates, make_app
from nolook.federated.server.batch_service import BatchService
from nolook.federated.tokens import Token, Tokens, make_tokens, read_tokens
from tests.federated.made import CALIBRATION, KEYS, PRIVATE, ROC, SMALL, changed, reports, resealed
from tests.federated.servers import PATIENCE, Caller, Pair, free_ports

IDS, FIRST, SECOND, *_ = reports(SMALL, 40)
ADDRESS = "/v1/batches/ages/reports"


@pytest.fixture(scope="module")
def pair(forks, tmp_path_factory):
    made = Pair(forks, tmp_path_factory.mktemp("pair"), [SMALL, ROC]).start()
    yield made
    made.close()


@pytest.fixture
def owner(pair):
    yield from calling(pair, "owner")


@pytest.fixture
def analyst(pair):
    yield from calling(pair, "analyst")


@pytest.fixture
def peer(pair):
    yield from calling(pair, "peer")


def calling(pair, who):
    """Give a caller; afterwards the server must be up and have said nothing."""
    made = Caller(pair, 0, who)
    yield made
    made.close()
    with pair.client("analyst", 0) as client:
        assert client.status("ages")["state"] == "open"
    assert pair.said() == ""


def stored(pair):
    with pair.client("analyst", 0) as client:
        return client.status("ages")["count"]


def refused(status, answer):
    assert answer[0] == status
    assert set(answer[1]) == {"error"}
    assert "\n" not in answer[1]["error"]
    return answer[1]["error"]


def test_a_report_is_stored_once(pair, owner):
    before = stored(pair)
    assert owner.put(SMALL, FIRST[30]) == (200, {"new": 1, "count": before + 1})
    assert owner.put(SMALL, FIRST[30]) == (200, {"new": 0, "count": before + 1})
    refused(400, owner.put(SMALL, changed(FIRST[30])))
    # Several at once: all of them or, if one is damaged, none.
    assert owner.put(SMALL, *FIRST[29:32]) == (200, {"new": 2, "count": before + 3})
    refused(400, owner.put(SMALL, FIRST[33], changed(FIRST[34])))
    assert stored(pair) == before + 3


def test_a_change_of_any_byte_is_refused_and_nothing_stored(pair, owner):
    before = stored(pair)
    report = FIRST[0]
    for at in range(len(report)):
        for flip in (1, 0x80, 0xFF):
            damaged = report[:at] + bytes([report[at] ^ flip]) + report[at + 1 :]
            assert FIRST[0] not in refused(400, owner.put(SMALL, damaged)).encode()
    for at in range(len(report)):
        refused(400, owner.put(SMALL, report[:at]))
        # The same with its id right: what was cut off was no accident.
        if at > 70:
            refused(400, owner.put(SMALL, resealed(SMALL, 0, report[:at])))
    assert stored(pair) == before


def test_a_half_for_another_batch_or_role_with_a_right_end_is_refused(pair, owner):
    before = stored(pair)
    for batch, role in ((evolve(SMALL, epsilon=2.0), 0), (ROC, 0), (SMALL, 1)):
        forged = resealed(batch, role, FIRST[0])
        assert "another batch or server" in refused(400, owner.put(SMALL, forged))
    assert stored(pair) == before


def test_reports_of_other_batches_servers_and_lengths_are_refused(pair, owner):
    before = stored(pair)
    _, other, *_ = reports(ROC, 40)
    assert "another batch or server" in refused(400, owner.put(SMALL, SECOND[0]))
    refused(400, owner.put(SMALL, other[0]))
    refused(400, owner.put(ROC, FIRST[0]))
    refused(400, owner.put(SMALL, FIRST[0] + b"\0"))
    refused(413, owner.put(SMALL, bytes(10**7)))
    refused(400, owner.put(SMALL, b""))
    refused(400, owner.put(SMALL))
    refused(400, owner("POST", ADDRESS, seal(SMALL, 0, FIRST[0])[:-1]))
    refused(413, owner.put(SMALL, *FIRST * 7))
    refused(404, owner.put(CALIBRATION, FIRST[0]))
    for wrong in ("/", "/00", "x", "/" + IDS[0].hex()):
        assert owner("POST", ADDRESS + wrong, FIRST[0])[0] == 404
    assert stored(pair) == before


NO_TOKENS = [
    None, "", "Bearer", "Bearer ", "Basic abc", "Bearer " + "0" * 64, "Bearer é",
    "Bearer " + "0" * 5000,
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", ADDRESS), ("GET", "/v1/batches/ages"), ("POST", "/v1/batches/ages/freeze"),
        ("POST", "/v1/batches/ages/answer"), ("GET", "/v1/batches/ages/set"),
        ("GET", "/v1/batches/ages/entries"), ("GET", "/v1/batches/none"),
    ],
)  # fmt: skip
def test_without_a_token_nobody_is_heard(pair, method, path):
    for header in NO_TOKENS:
        caller = Caller(pair, 0, None)
        headers = {} if header is None else {"authorization": header.encode("latin-1")}
        refused(401, caller(method, path, FIRST[0] if path == ADDRESS else None, headers))
        caller.close()


def test_each_role_has_its_own_addresses(owner, analyst, peer):
    calls = {
        ("POST", ADDRESS): owner,
        ("POST", "/v1/batches/ages/answer"): analyst,
        ("POST", "/v1/batches/ages/freeze"): analyst,
        ("GET", "/v1/batches/ages/set"): peer,
        ("GET", "/v1/batches/ages/entries"): peer,
    }
    for (method, path), allowed in calls.items():
        for caller in {owner, analyst, peer} - {allowed}:
            refused(403, caller(method, path, b"{}" if method != "GET" else None))
    refused(403, owner("GET", "/v1/batches/ages"))
    assert analyst("GET", "/v1/batches/ages")[0] == peer("GET", "/v1/batches/ages")[0] == 200
    assert peer("GET", "/v1/batches/ages/set")[1]["closed"] is False
    assert peer("GET", "/v1/batches/ages/entries")[0] == 200


def test_addresses_that_are_none(owner, analyst):
    for path in ("/", "/v1", "/v1/batches", "/v1/batches/ages/", "/v2/batches/ages", "/%00", "/é"):
        refused(404, analyst("GET", path.replace("é", "%C3%A9")))
    for method, path in (("DELETE", ADDRESS), ("GET", ADDRESS), ("PUT", "/v1/batches/ages")):
        refused(405, owner(method, path))
    refused(404, analyst("GET", "/v1/batches/none"))


def test_an_answer_before_it_is_time_and_requests_with_a_body(analyst):
    refused(409, analyst("POST", "/v1/batches/ages/answer"))
    for path in ("answer", "freeze"):
        refused(413, analyst("POST", f"/v1/batches/ages/{path}", b"{}"))


def test_bodies_of_other_lengths_than_announced(pair, owner):
    """Whatever is on its way when the limit is passed, or the line breaks, is not stored."""
    before = stored(pair)
    head = f"POST {ADDRESS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {owner.token}\r\n"
    size = len(FIRST[0])
    cases = [
        (f"content-length: {10**12}\r\n\r\n", b"x", b"413"),
        (f"content-length: {'9' * 5000}\r\n\r\n", b"x", b"400 413"),
        ("content-length: -1\r\n\r\n", b"x", b"400"),
        ("content-length: 1e2\r\n\r\n", b"x", b"400"),
        ("transfer-encoding: chunked\r\n\r\n", b"ffffff\r\n" + bytes(10**6), b"413"),
        ("transfer-encoding: chunked\r\n\r\n", b"zz\r\n", b"400"),
        (f"content-length: {size}\r\ncontent-length: {size + 1}\r\n\r\n", FIRST[0], b"400"),
        (f"content-length: {size}\r\n\r\n", FIRST[0][:-1], b""),
        (f"content-length: {size}\r\n", b"", b""),
        ("x" * 10**6, b"", b"400 431"),
        ("nonsense\r\n\r\n", b"", b"400"),
    ]
    for headers, body, wanted in cases:
        with owner.connection() as line:
            found = b""
            try:
                line.sendall(head.encode() + headers.encode() + body)
                if wanted:
                    found = line.recv(12)
            except (ConnectionError, ssl.SSLError):  # it need not listen to the end
                assert wanted
            assert found[9:12] in wanted.split() or found == b""
    # Nothing is left of any of them.
    assert stored(pair) == before
    assert owner.put(SMALL, FIRST[0])[0] == 200


def test_bytes_that_are_no_http_and_no_tls(pair, owner):
    for sent in (b"\0" * 100, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + bytes(200)):
        with socket.create_connection(("127.0.0.1", pair.ports[0]), timeout=PATIENCE) as line:
            line.sendall(sent)
            line.shutdown(socket.SHUT_WR)
            assert b"HTTP/1.1 200" not in line.recv(1000)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda home: home.peer.write_text(public(url="http://x")), "https://"),
        (lambda home: home.peer.write_text("{}"), "peer.json is not the public part"),
        (lambda home: home.peer.write_text(public(authority="x")), "the batch's authorities"),
        (lambda home: home.certificate_key.unlink(), "certificate.key"),
        (lambda home: home.tokens.unlink(), "tokens' cannot be read"),
        (lambda home: home.ledger.unlink(), "ledger'"),
        (lambda home: home.private_key.write_text("x"), "not a private key"),
        (
            lambda home: home.private_key.write_text(f"nolook private key {'0' * 64}\n"),
            "does not name this server's key",
        ),
        (
            lambda home: home.peer_token.write_text(
                (home.path.parent / "owner0.token").read_text()
            ),
            "a token of this server",
        ),
        (lambda home: home.state.write_text("x"), "cannot be read or written"),
        (lambda _: ["--batch", "missing"], "missing is not a batch"),
        (lambda _: ["--port", "70000"], "--port 70000"),
        (lambda _: ["--proxy", "proxy.example"], "for --proxy a network address"),
        (lambda home: ["--batch", home.path.parent / "ages.json"], "two batches of one name"),
    ],
)
def test_a_server_that_cannot_start_says_why_in_one_line(forks, tmp_path, change, what):
    pair = Pair(forks, tmp_path, [SMALL])
    files = tmp_path / "out", tmp_path / "err"
    more = change(pair.homes[0])
    child = forks.run(pair.words(0) + (more if isinstance(more, list) else []), *files)
    child.wait()
    said = files[1].read_text()
    assert said.startswith("nolook: error: ")
    assert said.count("\n") == 1
    assert what in said
    assert files[0].read_text() == ""
    assert not pair.homes[0].state.is_dir()


def public(**changed):
    """Return the content of another server's public part."""
    return json.dumps({"url": "https://x", "key": KEYS[1], "authority": ""} | changed)


def test_two_servers_never_share_files_or_a_port(pair, forks, tmp_path):
    other = Pair(forks, tmp_path, [SMALL])
    for words, what in (
        ([*pair.words(0), "--port", *free_ports(1)], "in use by another server"),
        ([*other.words(0), "--port", pair.ports[0]], f"--port {pair.ports[0]}"),
    ):
        files = tmp_path / "out", tmp_path / "err"
        forks.run(words, *files).wait()
        said = files[1].read_text()
        assert what in said
        assert said.count("\n") == 1
        files[1].unlink()


def test_tokens(tmp_path):
    file = tmp_path / "tokens"
    made = {role: make_tokens(role, file)[0] for role in ("owner", "analyst", "peer")}
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(set(made.values())) == 3
    known = Tokens(file)
    for role, token in made.items():
        assert token not in file.read_text()
        found = known.find(token)
        assert (found.role, found.most, found.rate) == (role, None, None)
        assert known.find(token[:-1]) is known.find(token + "0") is known.find("") is None
    with pytest.raises(ParameterError, match="role"):
        make_tokens("king", file)
    line = {"role": "owner", "digest": b64encode(bytes(32)).decode(), "most": 1, "rate": 2**31}
    file.write_text(json.dumps(line))
    Tokens(file)
    bad = [{name: line[name] for name in line if name != lost} for lost in ("role", "digest")]
    bad += [line | {"role": role} for role in ("king", "owner\n", "", None)]
    bad += [line | {"digest": b64encode(bytes(n)).decode()} for n in (0, 3, 31, 33)]
    bad += [line | {"digest": "zz"}, line | {"more": 1}]
    bad += [line | {name: n} for name in ("most", "rate") for n in (0, -1, 1.5, "1", 2**31 + 1)]
    twice = [line | {"role": "peer"}, line | {"most": 2}]
    broken = [*map(json.dumps, bad), *(json.dumps(line) + "\n" + json.dumps(x) for x in twice)]
    for content in ("owner", "\n", "é", *broken):
        file.write_text(content)
        with pytest.raises(ParameterError, match="tokens"):
            Tokens(file)
    held = tmp_path / "token"
    held.write_text(made["owner"] + "\n")
    assert read_tokens(held) == [made["owner"]]
    for content in ("", "x", made["owner"] * 2, made["owner"] + "\nx"):
        held.write_text(content)
        with pytest.raises(ParameterError, match="does not contain a token"):
            read_tokens(held)
    with pytest.raises(ParameterError, match="cannot be read"):
        read_tokens(tmp_path / "none")


def test_a_server_reads_tokens_that_are_added_or_taken_away(tmp_path, capsys):
    file = tmp_path / "tokens"
    (first,) = make_tokens("owner", file)
    known = Tokens(file)
    (second,) = make_tokens("analyst", file)
    assert known.find(second).role == "analyst"
    assert capsys.readouterr().err == ""
    content = file.read_text()
    for broken in (lambda: file.write_text("half a li"), file.unlink):
        broken()
        assert known.find(first).role == "owner"
        assert known.find(second).role == "analyst"
        said = capsys.readouterr().err
        assert said.startswith("nolook: error: ")
        assert said.count("\n") == 1
    file.write_text(content.splitlines()[1] + "\n")
    assert known.find(first) is None
    assert known.find(second).role == "analyst"


def test_tokens_for_one_report_and_tokens_with_limits(tmp_path):
    file = tmp_path / "tokens"
    once = make_tokens("owner", file, 50, most=1)
    assert len(set(once)) == 50
    limits = [(None, None), (3, None), (None, 7), (2, 5)]
    others = [make_tokens("owner", file, 1, *limit)[0] for limit in limits]
    known = Tokens(file)
    assert {known.find(one).most for one in once} == {1}
    found = [known.find(one) for one in others]
    assert [(one.most, one.rate) for one in found] == limits
    held = tmp_path / "held"
    held.write_text("\n".join(once))
    assert read_tokens(held) == once
    for wrong in ({"role": "peer", "most": 1}, {"role": "analyst", "rate": 1}, {"most": 0}):
        with pytest.raises(ParameterError, match=r"--reports|--per-second"):
            make_tokens(**({"role": "owner", "path": file} | wrong))


def test_a_rate_is_so_many_reports_a_second(tmp_path):
    now = [0.0]
    rates = Rates(clock=lambda: now[0])
    slow, free = Token(role="owner", digest=b"s", rate=3), Token(role="owner", digest=b"f")
    assert all(rates.allow(free) for _ in range(100))
    assert [rates.allow(slow) for _ in range(5)] == [True] * 3 + [False] * 2
    now[0] = 1 / 3 + 1e-9
    assert [rates.allow(slow) for _ in range(2)] == [True, False]
    now[0] = 100.0
    assert [rates.allow(slow) for _ in range(5)] == [True] * 3 + [False] * 2
    # What came with one report counts as well: 1 + 8 of them are three seconds' worth.
    now[0] = 200.0
    assert rates.allow(slow)
    rates.charge(slow, 8)
    rates.charge(free, 8)
    for seconds, allowed in ((202.0, False), (202.3, False), (202.4, True), (202.5, False)):
        now[0] = seconds
        assert rates.allow(slow) is allowed


def test_what_was_refused_is_nowhere_on_the_disk(pair, owner):
    marked = bytearray(FIRST[1][:-32])
    marked[70:86] = b"MARKED-BY-A-TEST"
    refused(400, owner.put(SMALL, bytes(marked) + bytes(32)))
    time.sleep(0.1)
    for path in pair.folder.rglob("*"):
        if path.is_file():
            assert b"MARKED-BY-A-TEST" not in path.read_bytes()


class Service:
    """A batch's service whose freeze waits, and whose status fails."""

    count = 1

    def __init__(self):
        self.thawed = threading.Event()

    def put(self, *arrivals):
        found = Future()
        found.set_result(len(arrivals))
        return found

    def freeze(self):
        assert self.thawed.wait(PATIENCE)
        return {"state": "frozen"}

    def status(self):
        raise ValueError("a secret")


class Places:
    def admit(self, *_):
        return True


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Give a service, and a function that calls it as an owner or the analyst."""
    service, tokens = Service(), tmp_path / "tokens"
    held = {who: make_tokens(who, tokens)[0] for who in ("owner", "analyst")}
    for name in ("freeze", "status"):
        monkeypatch.setattr(BatchService, name, getattr(Service, name))
    app = make_app([(Unsealer(SMALL, PRIVATE[0]), service)], Tokens(tokens), Places())
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="https://x")

    async def call(who, method, path, body=None):
        headers = {"authorization": f"Bearer {held[who]}"}
        found = await client.request(method, path, content=body, headers=headers)
        return found.status_code, found.json()

    return service, call


def test_a_slow_call_keeps_no_report_waiting(calls):
    service, call = calls

    async def run():
        slow = asyncio.create_task(call("analyst", "POST", "/v1/batches/ages/freeze"))
        await asyncio.sleep(0.1)
        stored = await asyncio.wait_for(
            call("owner", "POST", ADDRESS, seal(SMALL, 0, FIRST[0])), PATIENCE
        )
        assert stored == (200, {"new": 1, "count": 1})
        assert not slow.done()
        service.thawed.set()
        assert await slow == (200, {"state": "frozen"})

    asyncio.run(run())


def test_an_internal_error_reveals_its_type_to_the_operator_and_nothing_to_the_caller(
    calls, capsys
):
    _, call = calls
    found = asyncio.run(call("analyst", "GET", "/v1/batches/ages"))
    assert "internal error" in refused(500, found)
    assert "secret" not in str(found)
    assert capsys.readouterr().err == "nolook: error: internal error in serve: ValueError\n"
