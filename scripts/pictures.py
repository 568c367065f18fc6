"""Draw the pictures of README and the site, from the results of benchmarks and from a release.

    python scripts/pictures.py [FOLDER]

writes them into FOLDER (default: docs/pictures); the same results give the same files. The report
on three screens is drawn only where there is Chromium; its letters are those of the machine.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

import nolook

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
RELEASE = ROOT / "examples" / "data" / "diamonds.model.json"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# The same results give the same files.
STYLE = {"svg.hashsalt": "nolook", "svg.fonttype": "path"}
# Widths and heights, and what else a browser is told.
SCREENS = {
    (375, 1250): (),
    (768, 900): ("--blink-settings=preferredColorScheme=0",),
    (1280, 900): (),
}
# What the results call a method: what the picture says of it.
METHODS = {
    "linear": ("nolook linear: budget only", "#0b5fa5", "o-"),
    "boosted-adassp": ("nolook boosted-adassp: budget only", "#117733", "s-"),
    "AdaSSP, oracle norms": ("AdaSSP: told the table's largest norms", "#aa4499", "^--"),
    "diffprivlib": ("diffprivlib: told every column's range", "#b35c00", "v--"),
}


def row(text, name):
    """Return the numbers of one row of the first table."""
    (found, *_) = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", text, re.MULTILINE)
    return [float(cell) for cell in found.split("|")]


def accuracy(place):
    """Draw the R2 that each method reaches for a budget."""
    text = (RESULTS / "accuracy.md").read_text(encoding="utf-8")
    budgets = [0.03, 0.1, 0.3, 1, 3]
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    least_squares = row(text, "R2 of least squares")[0]
    axes.axhline(least_squares, color="black", linewidth=1, label="least squares, no privacy")
    for name, (said, colour, style) in METHODS.items():
        values = row(text, f"R2 of {name}")[: len(budgets)]
        axes.plot(budgets, values, style, color=colour, label=said)
    axes.set_xscale("log")
    axes.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
    axes.minorticks_off()
    axes.set(xlabel="privacy budget, epsilon", ylabel="R2 on held-out rows", ylim=(-1.05, 0.75))
    axes.set_title("Mean over 14 real tables; below -1 counted as -1", fontsize=10)
    axes.legend(fontsize=8, loc="center right", bbox_to_anchor=(1, 0.36))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(place / "accuracy.svg", metadata={"Date": None})
    plt.close(figure)


def coefficients(place):
    """Draw a release that was made once, as everybody would."""
    model = nolook.load(RELEASE)
    axes = model.plot()
    axes.figure.savefig(place / "coefficients.svg", metadata={"Date": None})
    plt.close(axes.figure)


def screens(place):
    """Show the report of the same release on a telephone, on a tablet in the dark, and wide."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        nolook.load(RELEASE).report(page)
        for (width, height), options in SCREENS.items():
            command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
            command += [
                "--no-first-run",
                "--disable-dev-shm-usage",
                f"--user-data-dir={folder}/own",
            ]
            picture = (place / f"report-{width}.png").resolve()
            command += [f"--window-size={width},{height}", f"--screenshot={picture}", *options]
            subprocess.run([*command, page.as_uri()], check=True, capture_output=True, timeout=120)


def main():
    """Draw all."""
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    place.mkdir(parents=True, exist_ok=True)
    mpl.use("Agg")
    mpl.rcParams.update(STYLE)
    accuracy(place)
    coefficients(place)
    screens(place)


if __name__ == "__main__":
    main()
