"""The report in a real browser: it renders, fits on any screen and asks for nothing."""

from __future__ import annotations

import html
import http.server
import json
import subprocess
import threading
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from nolook.report.coefficient_findings import MOST_SHOWN
from nolook.report.page import render_page
from tests.report.golden_pages import PAGES
from tests.report.hand_made import (
    Choosy,
    current,
    fitted,
    make_constant,
    unclipped,
    withheld,
    without,
)
from tests.report.pages import of_table, render
from tests.report.test_html import NASTY
from tests.report.test_selection import fitted as fitted_to_chosen

pytestmark = pytest.mark.slow  # a browser for each

LONG = [f"{'a_rather_long_column_name_' * 2}=category_{i:02d}"[-60:] for i in range(60)]
INTERVALS = ("coef_interval_", "intercept_interval_", "rmse_interval_")
MODELS = {
    "plain": lambda: fitted(("age", "height", "weight", "income")),
    "nasty names": lambda: fitted((*NASTY, "l" * 60), private=False),
    "sixty long names": lambda: fitted((*LONG, "label")),
    "chosen columns": lambda: fitted_to_chosen(names=[*LONG[:3], *NASTY[:2]]),
    "one column": lambda: fitted(("x", "y")),
    "nothing optional": lambda: without(fitted((*LONG, "label"), made_by=Choosy())),
    "hardly clipped, no R2": lambda: without(unclipped(fitted(("x", "z" * 60, "y"))), "r2_"),
    "only intervals missing": lambda: without(fitted((*NASTY, "y")), "r2_interval_", *INTERVALS),
    "some intervals withheld": lambda: withheld(current(fitted((*NASTY, "y"))), 0, 3, -1),
    "a constant": lambda: make_constant(
        fitted((*LONG, "label"), made_by=Choosy(random_state=1), private=False)
    ),
}

# Measures the page as laid out: what is wider than its place, and what was loaded.
MEASURE = """
<script>
addEventListener("load", () => {
  const root = document.documentElement;
  const over = [];
  for (const element of document.querySelectorAll("main *")) {
    const box = element.getBoundingClientRect();
    // A wide table scrolls inside a box of its own; that box must fit.
    if (element.closest(".scroll") && !element.matches(".scroll")) continue;
    if (box.right > root.clientWidth + 0.5 || box.left < -0.5) over.push(element.outerHTML);
  }
  const result = {
    width: root.clientWidth,
    content: root.scrollWidth,
    height: root.scrollHeight,
    over: over.slice(0, 3),
    scrolling: [...document.querySelectorAll(".scroll")].filter(
      box => box.scrollWidth > box.clientWidth).map(box => box.textContent.trim()),
    asked: performance.getEntriesByType("resource").map(entry => entry.name),
    picture: document.querySelector("svg.picture")?.getBoundingClientRect().height,
    points: [...document.querySelectorAll("svg.picture circle")].map(
      point => point.getBoundingClientRect().x),
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
  };
  const place = document.createElement("pre");
  place.id = "measured";
  place.textContent = JSON.stringify(result);
  document.body.append(place);
});
</script>
"""


class Nothing(http.server.BaseHTTPRequestHandler):
    """A proxy that has nothing: whatever is asked for, by a page or the browser, stays here."""

    def do_GET(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


@pytest.fixture
def proxy():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Nothing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def through(server) -> list[str]:
    return [f"--proxy-server=127.0.0.1:{server.server_port}", "--proxy-bypass-list=<-loopback>"]


def run_browser(chromium, folder: Path, page: Path, *options: str) -> str:
    profile = folder / "profile"
    profile.mkdir(exist_ok=True)
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
        *options,
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def measure(chromium, folder: Path, source: str, *options: str) -> dict:
    """Lay a page out and measure it; the policy is lifted for our own script only."""
    policy = next(line for line in source.splitlines() if "Content-Security-Policy" in line)
    page = folder / "measured.html"
    page.write_text(source.replace(policy, "").replace("</main>", f"</main>{MEASURE}"))
    printed = run_browser(chromium, folder, page, "--dump-dom", *options)
    _, _, rest = printed.partition('<pre id="measured">')
    return json.loads(html.unescape(rest.partition("</pre>")[0]))


@pytest.mark.parametrize("width", [1280, 500])
@pytest.mark.parametrize("name", MODELS)
def test_the_page_fits_the_screen_and_asks_for_nothing(chromium, tmp_path, proxy, name, width):
    model = MODELS[name]()
    source = render(model, table="people.parquet")
    found = measure(chromium, tmp_path, source, f"--window-size={width},900", *through(proxy))
    assert found["width"] == width
    assert found["content"] <= found["width"]
    assert found["over"] == []
    assert found["asked"] == []
    assert found["height"] > 900
    assert found.get("picture", 0) >= 26 * len(found["points"])
    # A model of several coefficients has points in several places, a constant none.
    known = [one for one in model.coefficients if one.ends and one.name != "intercept"]
    coefficients = 0 if model.failed_ else len(known)
    assert len(found["points"]) == min(coefficients, MOST_SHOWN)
    assert len({round(x) for x in found["points"]}) >= min(2, coefficients)


@pytest.mark.parametrize(
    "name",
    [
        *("linear", "clipped", "chosen-levels", "levels", "adassp", "selected", "roc"),
        *("three groups", "survival curves of groups"),
    ],
)
@pytest.mark.parametrize("width", [768, 500])
def test_nothing_is_hidden_beside_the_screen(chromium, tmp_path, name, width):
    source = render_page(of_table(PAGES[name](), "people.parquet"))
    found = measure(chromium, tmp_path, source, f"--window-size={width},900")
    assert found["scrolling"] == []


def test_the_measurement_notices_what_is_wide_and_what_is_asked_for(chromium, tmp_path, proxy):
    image = '<img src="http://example.org/image.png">'
    bad = f'<section><div style="width: 3000px">wide</div>{image}</section></main>'
    source = render(fitted(), table="t").replace("</main>", bad)
    found = measure(chromium, tmp_path, source, "--window-size=1280,900", *through(proxy))
    assert found["content"] > found["width"]
    assert found["over"]
    assert found["asked"] == ["http://example.org/image.png"]


def test_the_policy_stops_a_script_in_the_page(chromium, tmp_path):
    bad = "<script>document.title = 'ran'</script></main>"
    source = render(fitted(), table="t")
    page = tmp_path / "page.html"
    page.write_text(source.replace("</main>", bad))
    assert "<title>ran</title>" not in run_browser(chromium, tmp_path, page, "--dump-dom")
    # Without the policy the same script runs: the test can fail.
    policy = next(line for line in source.splitlines() if "Content-Security-Policy" in line)
    page.write_text(source.replace("</main>", bad).replace(policy, ""))
    assert "<title>ran</title>" in run_browser(chromium, tmp_path, page, "--dump-dom")


def screenshot(chromium, tmp_path, source, *options):
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(source, encoding="utf-8")
    run_browser(
        chromium, tmp_path, page, "--window-size=900,1600", f"--screenshot={picture}", *options
    )
    return matplotlib.image.imread(picture)[..., :3]


def luminance(colour):
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_of_the_page_is_legible(chromium, tmp_path, scheme):
    dark = "--blink-settings=preferredColorScheme=0"
    options = [dark] if scheme == "dark" else []
    pixels = screenshot(chromium, tmp_path, render(fitted(), table="t"), *options)
    assert pixels.shape == (1600, 900, 3)
    shades = luminance(pixels)
    page = luminance(pixels[2, 2])
    assert (page > 0.5) == (scheme == "light")
    # Text stands out from the page by at least 7 to 1, and there is a page's worth of it.
    contrast = (np.maximum(shades, page) + 0.05) / (np.minimum(shades, page) + 0.05)
    assert 0.005 < (contrast > 7).mean() < 0.3
    # The coloured points and intervals are there.
    colourful = pixels.max(axis=2) - pixels.min(axis=2)
    assert (colourful > 0.25).sum() > 500


def test_the_banner_of_a_result_that_is_not_private_is_big(chromium, tmp_path):
    private = screenshot(chromium, tmp_path, render(fitted(), table="t"))
    seeded = screenshot(chromium, tmp_path, render(fitted(private=False), table="t"))

    def red(pixels):
        return ((pixels[..., 0] - pixels[..., 1]) > 0.35).mean()

    assert red(private) == 0
    assert red(seeded) > 0.03
