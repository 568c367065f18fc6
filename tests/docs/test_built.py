"""The site as `make docs` made it: links and pictures, no network, in a browser at three widths."""

from __future__ import annotations

import html.parser
import http.server
import json
import subprocess
import threading
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tests.conftest import ROOT, skip_or_fail

pytestmark = pytest.mark.slow

SITE = ROOT / "docs" / "_build" / "html"
HERE = Path(__file__).parent
WIDTHS = (375, 768, 1280)
# Where axe-core judges too, which takes most of the time: the narrow and the wide layout, and the
# colours of both themes.
JUDGED = ((375, "light"), (1280, "light"), (1280, "dark"))
# One of each kind: start, guide with formulae, tables of results, tutorial, reference, proof.
LOOKED_AT = [
    "index.html",
    "choosing.html",
    "reports.html",
    "which-method.html",
    "comparison.html",
    "commands.html",
    "gallery/index.html",
    "gallery/1_hospital.html",
    "api/LinearRegression.html",
    "gathered/proofs/algorithms/glm/linear.html",
    "gathered/results/fit.html",
]
MEANT_TO_LEAD_OUT = {"a"}


class Page(html.parser.HTMLParser):
    """What a page links to and loads, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(given[name] for name in ("id", "name") if given.get(name))
        if given.get("src"):
            self.loaded.append(given["src"])
        if given.get("href"):
            (self.links if tag in MEANT_TO_LEAD_OUT else self.loaded).append(given["href"])


@pytest.fixture(scope="module")
def pages():
    if not (SITE / "index.html").is_file():
        skip_or_fail("needs the site, which make docs makes")
    return {path.resolve(): Page(path) for path in SITE.rglob("*.html")}


def test_every_link_and_picture_is_there(pages):
    lost = []
    for path, page in pages.items():
        for link in (*page.links, *page.loaded):
            where, anchor = urldefrag(link)
            if ":" in where.split("/")[0]:
                continue
            target = (path.parent / unquote(where.partition("?")[0])).resolve() if where else path
            held = pages[target].anchors if target in pages and anchor else {unquote(anchor)}
            if not target.is_file() or unquote(anchor) not in held:
                lost.append((path.name, link))
    assert lost == []


def test_nothing_is_loaded_from_elsewhere(pages):
    assert [one for page in pages.values() for one in page.loaded if "//" in one] == []


def test_every_public_name_and_every_proof_has_a_page(pages):
    import nolook

    names = {path.stem for path in pages if path.parent.name == "api"}
    assert set(nolook.__all__) - {"__version__"} <= names
    proofs = {path.stem for path in (ROOT / "src" / "nolook").rglob("*.md")}
    assert proofs <= {path.stem for path in pages if "proofs" in path.parts}


class Looking(http.server.SimpleHTTPRequestHandler):
    """The site and the page that looks at it; what that finds is posted back."""

    def do_GET(self):
        carrier = Path(find_spec("axe_core_python").origin).parent
        apart = {"/looking.html": HERE / "looking.html", "/axe.min.js": carrier / "axe.min.js"}
        if self.path in apart:
            self.send_response(200)
            self.send_header("Content-Type", self.guess_type(str(apart[self.path])))
            self.end_headers()
            self.wfile.write(apart[self.path].read_bytes())
        else:
            super().do_GET()

    def do_POST(self):
        found = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
        self.server.found = json.loads(found)
        self.server.finished.set()

    def log_message(self, *_):
        pass


def look(chromium, folder, jobs, site=SITE, *options):
    """Return what a browser finds of pages: each by its width, its theme and whether axe judges."""
    handler = partial(Looking, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.finished = threading.Event()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/looking.html#{json.dumps(jobs)}"
        command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu"]
        command += ["--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage"]
        command += [
            f"--user-data-dir={folder / 'profile'}",
            "--window-size=1400,1000",
            *options,
            address,
        ]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, **quiet) as browser:
            try:
                assert server.finished.wait(300), "the browser did not answer"
            finally:
                browser.terminate()
                server.shutdown()
                thread.join()
    return server.found


@pytest.mark.parametrize("page", LOOKED_AT)
def test_a_page_fits_the_screen_and_can_be_read_by_anybody(pages, chromium, tmp_path, page):
    shown = [(width, theme) for width in WIDTHS for theme in ("light", "dark")]
    jobs = [[page, *one, one in JUDGED] for one in shown]
    found = look(chromium, tmp_path, jobs)
    assert len(found) == len(jobs)
    for one in found:
        assert one["content"] <= one["width"], one
        assert one["violations"] == [], one
        assert one["elsewhere"] == [], one
        assert one["broken"] == [], one
        assert one["unset"] == 0, one
    assert len({one["background"] for one in found}) == 2
    if page == "choosing.html":
        assert all(one["formulae"] >= 5 for one in found)


def test_what_looks_at_pages_notices_faults(chromium, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "bad.html").write_text(
        "<html lang='en'><title>x</title><body style='background: white'><main>"
        "<p style='color: #ddd; width: 3000px'>pale and wide</p><img src='none.png' alt='x'>"
    )
    (found,) = look(chromium, tmp_path, [["bad.html", 375, "light", True]], site)
    assert found["content"] > found["width"]
    assert any("color-contrast" in one for one in found["violations"])
    assert found["broken"] == ["none.png"]
