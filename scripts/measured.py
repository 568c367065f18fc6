"""Figures in the pages, as benchmarks and papers' trials printed them: nobody copies numbers.

    R2 is 0.004<!--gap-0.1--> below that of least squares

has what `FIGURES` finds under the name in the comment, in a file of `benchmarks/results` or in the
results of a paper: the smallest or the largest of the pattern's matches, in the digits that were
printed. `pages.py` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DICK = "papers/dick2023"
NUMBER = r"(-?[\d.]+)"
SHARE = r"^- shares, .*"
COUNTS = rf"^\| counts, .*\| {NUMBER} \|$"
MILLION = rf"^\| 1,000,000 \| \w+ \| {{}} \| \S+ \| \S+ \| {NUMBER} \|"
ONE_FILE = r"^\| 1 \| quiet \|"
LEVELS = r"\| 20,000 \| 1 \| \S+ \|"
AUC = rf"^\| {{}} \| [\d,]+ \| \S+ \| {NUMBER} \|"


def gap(before: int) -> str:
    """Return the pattern of the gap of `linear`, by the number of budgets before it."""
    return r"^\| gap of linear \| " + r"\S+ \| " * before + NUMBER


def covered(population: str) -> str:
    """Return the pattern of the coverage of a population's intervals."""
    return rf"^\| {population}, 20,000 rows \| \S+ \| \S+ \| {NUMBER}"


def plainly_covered(population: str) -> str:
    """Return the pattern of their coverage of plain least squares."""
    return rf"^\| {population}, 20,000 rows \| \S+ \| \S+ \| \S+ \| {NUMBER}"


def selected(columns: int, regressor: str) -> str:
    """Return the pattern of a line about a selection before a regressor."""
    return rf"^## nolook at k = {columns}\n(?:(?!#).*\n)*?- Best before `{regressor}`(?:.*\n)*?  "


# Name: the file, a pattern, and which of what it finds.
FIGURES: dict[str, tuple[str, str, Callable[..., str]]] = {
    "gap-0.03": ("accuracy", gap(0), min),
    "gap-0.1": ("accuracy", gap(1), min),
    "gap-0.3": ("accuracy", gap(2), min),
    "gap-1": ("accuracy", gap(3), min),
    "bad-short": ("accuracy", rf"^\| bad runs of linear \| {NUMBER}%", min),
    "bad-middle": ("accuracy", rf"^\| bad runs of linear \| [^|]*\| {NUMBER}%", min),
    "best-boosted": ("regressors", r"number of tables: .*boosted-adassp (\d+)", max),
    "best-dpsgd": ("regressors", r"number of tables: .*dpsgd (\d+)", max),
    "best-linear": ("regressors", r"number of tables: linear (\d+)", max),
    "best-tukey": ("regressors", r"number of tables: .*tukey (\d+)", max),
    "covered": ("intervals", rf"all intervals given: {NUMBER}", max),
    "covered-least": ("intervals", rf"least coverage of such a column: {NUMBER}", max),
    "covered-heavy": ("intervals", covered("heavy column, errors grow with it"), max),
    "covered-log-normal": ("intervals", covered("log-normal target"), max),
    "plain-log-normal": ("intervals", plainly_covered("log-normal target"), max),
    "interval-given": ("intervals", rf"- share given at epsilon = 1: {NUMBER}", max),
    "levels-all": ("logistic_coverage", rf"^\| bank_marketing {LEVELS} {NUMBER}", max),
    "levels-fewer": ("logistic_coverage", rf"^\| bank_.* left out {LEVELS} {NUMBER}", max),
    "logistic-covered": ("logistic_coverage", rf"^\| all \| \| \| {NUMBER}", max),
    "logistic-least": ("logistic_coverage", rf"^(?:\| [^|]+){{3}}\| {NUMBER} \| \S+ \|$", min),
    "rare-covered": ("rare_outcomes", rf"^\| 1\.1 % of rows.* {NUMBER} \| \S+ \|$", min),
    "rare-separated": ("rare_outcomes", rf"^\| cpu_act \| \S+ \| {NUMBER}", min),
    "r2-error": ("intervals", rf"error of R2 over 14 tables, .*: {NUMBER}", max),
    "moments-5": (DICK, rf"{selected(5, 'linear')}Moments beat .* on (\d+) of", max),
    "moments-5-of": (DICK, rf"{selected(5, 'linear')}Moments beat .* of (\d+),", max),
    "moments-5-worst": (DICK, rf"{selected(5, 'linear')}.* worst difference -(\S+)\.$", max),
    "moments-10": (DICK, rf"{selected(10, 'linear')}Moments beat .* on (\d+) of", max),
    "moments-10-of": (DICK, rf"{selected(10, 'linear')}Moments beat .* of (\d+),", max),
    "all-columns-5": (DICK, rf"{selected(5, 'linear')}With all columns .* on (\d+) of", max),
    "lasso-tukey-5": (DICK, rf"{selected(5, 'tukey')}Lasso beats Kendall on (\d+),", max),
    "kendall-tukey-5": (DICK, rf"{selected(5, 'tukey')}Lasso beats .* Lasso on (\d+)\.", max),
    "shares-plain": ("distribution", rf"neither smoothed, .*: {NUMBER} to", min),
    "shares-best": ("distribution", rf"paper smoothed, .*: {NUMBER} to", min),
    "shares-worst": ("distribution", rf"paper smoothed, .*to {NUMBER}$", min),
    "opendp-best": ("distribution", rf"{SHARE}both isotonic: {NUMBER}$", min),
    "opendp-worst": ("distribution", rf"{SHARE}both isotonic: {NUMBER}$", max),
    "opendp-counts-best": ("distribution", COUNTS, min),
    "opendp-counts-worst": ("distribution", COUNTS, max),
    "rank-error": ("distribution", rf"no range: .*epsilon: {NUMBER} ", max),
    "auc-framingham": ("roc", AUC.format("framingham"), max),
    "auc-bank": ("roc", AUC.format("bank_marketing"), max),
    "auc-diabetes": ("roc", AUC.format("diabetes_readmission"), max),
    "curves-covered-least": ("roc", rf"mean coverage {NUMBER}", min),
    "curves-covered-most": ("roc", rf"mean coverage {NUMBER}", max),
    "curves-worst": ("roc", rf"mean coverage .* least {NUMBER}", min),
    "counts-federated": ("federated", rf"counts of both classes.*\| {NUMBER} ±", max),
    "auc-federated-best": ("federated", rf"\| AUC, .*\| {NUMBER} ±", min),
    "auc-federated-worst": ("federated", rf"\| AUC, .*\| {NUMBER} ±", max),
    "million-best": ("fit", MILLION.format("quiet"), min),
    "million-worst": ("fit", MILLION.format("quiet"), max),
    "million-busy-worst": ("fit", MILLION.format("busy"), max),
    "ten-million": ("fit", rf"^\| 10,000,000 \|.*\| {NUMBER} \| \d+ \|$", max),
    "second-thread": ("cores", rf"{ONE_FILE}(?:[^|]+\|){{5}} {NUMBER} \|", max),
    "second-decoding": ("cores", rf"{ONE_FILE}(?:[^|]+\|){{2}} {NUMBER} \|", max),
    "tukey-fit": ("kernels", rf"^\| whole Tukey fit, .* \| {NUMBER} \|$", max),
    "kendall-fit": ("kernels", rf"^\| Kendall selection, .* \| {NUMBER} \|$", max),
    "peak": ("fit", r"^\| 1,?0?,?000,000 .* (\d+) \|$", max),
}


def figure(name: str) -> str:
    """Return a figure as it was printed."""
    result, pattern, which = FIGURES[name]
    paper = ROOT / result / "results" / "README.md"
    path = paper if result.startswith("papers/") else RESULTS / f"{result}.md"
    text = path.read_text(encoding="utf-8")
    found = re.findall(pattern, text, re.MULTILINE)
    if not found:
        raise LookupError(f"{result} has no line like {pattern}")
    return which(found, key=float)
