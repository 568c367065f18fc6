"""The committed results of the benchmarks against what the project demands of them."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from benchmarks import harness
from tests.thresholds import COMMITTED

UNITS = {"": 1.0, "k": 1e3, "M": 1e6}


def numbers(text: str, pattern: str) -> list[float]:
    """Return what a pattern's group holds, wherever it is found."""
    found = []
    for printed in re.findall(pattern, text, flags=re.MULTILINE):
        digits, _, unit = printed.replace(",", "").partition(" ")
        found.append(float(digits) * UNITS[unit])
    return found


def holds(found: list[float], side: str, threshold: float) -> bool:
    """Tell whether there are numbers and all are on the right side."""
    if side == "least":
        return bool(found) and min(found) >= threshold
    return bool(found) and max(found) <= threshold


@pytest.mark.parametrize("benchmark", dict.fromkeys(each[0] for each in COMMITTED))
def test_committed_results(project_root, benchmark):
    path = project_root / "benchmarks" / "results" / f"{benchmark}.md"
    if benchmark.startswith("papers/"):
        path = project_root / benchmark / "results" / "README.md"
    text = path.read_text(encoding="utf-8")
    for name, pattern, side, threshold in COMMITTED:
        if name == benchmark:
            found = numbers(text, pattern)
            assert holds(found, side, threshold), f"{pattern}: {found}: at {side} {threshold}"


@pytest.mark.parametrize("benchmark", ["sources", "databases"])
def test_every_place_gave_the_same_bits(project_root, benchmark):
    text = (project_root / "benchmarks" / "results" / f"{benchmark}.md").read_text("utf-8")
    assert "| yes |" in text
    assert "| NO |" not in text


def test_a_result_on_the_wrong_side_or_missing_is_noticed():
    text = "- gap: 0.02\n| a | 671 k |\n| b | 1,234.5 M |\n"
    assert numbers(text, r"gap: (\S+)") == [0.02]
    assert numbers(text, r"^\| \w \| (.*) \|$") == [671e3, 1234.5e6]
    assert holds([0.02], "most", 0.02)
    assert not holds([0.0, 0.02], "most", 0.01)
    assert not holds([0.0, 0.02], "least", 0.01)
    assert not holds(numbers(text, r"no such thing: (\S+)"), "most", 1.0)


def test_scripts_measure_and_results_report_what_tests_demand(project_root):
    folder = project_root / "benchmarks"
    for path in (*folder.glob("*.py"), *folder.glob("results/*.md")):
        assert not re.search(r"\bwanted\b", path.read_text(encoding="utf-8"), re.IGNORECASE), path


def test_every_benchmark_takes_the_folder_of_the_tables(project_root, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["accuracy", "--data", str(tmp_path)])
    assert runpy.run_path(harness.__file__)["DATA"] == tmp_path
    texts = [path.read_text(encoding="utf-8") for path in project_root.glob("benchmarks/*.py")]
    using = [text for text in texts if re.search(r"\bDATA\b", text) and "DATA = " not in text]
    assert len(using) >= 9
    assert all(
        re.search(r"^from benchmarks.harness import .*DATA", each, re.MULTILINE) for each in using
    )
