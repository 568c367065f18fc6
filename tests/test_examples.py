from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import pytest

import nolook


@pytest.fixture
def run(project_root, tmp_path):
    """Run an example in a process of its own; return what it printed."""

    def run(name):
        command = [sys.executable, str(project_root / "examples" / f"{name}.py"), str(tmp_path)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    return run


@pytest.mark.slow
def test_the_diamonds_example_runs(run, tmp_path):
    printed = run("diamonds")
    assert "left for later releases: epsilon 2," in printed
    # Each contrast is near least squares without privacy: by four half-widths of its interval, if
    # known, or 7.8 standard errors. The fit is biased by less than one: chance to fail below 1e-7.
    for contrast, least_squares in (
        ("color = J, compared with color = G", -0.390),
        ("clarity = IF, compared with clarity = SI1", 0.444),
    ):
        ((slope, ends),) = re.findall(rf"{contrast} +(\S+)  \((.+)\)", printed)
        assert abs(float(slope) - least_squares) < 0.15
        if ends != "not known":
            low, high = map(float, ends.split(" to "))
            assert low < float(slope) < high
            assert abs(float(slope) - least_squares) < 2.0 * (high - low)
    assert nolook.load(tmp_path / "diamonds.model.json").privacy_.private
    assert (tmp_path / "diamonds.html").stat().st_size > 10_000
    assert (tmp_path / "diamonds.ledger").is_file()


@pytest.mark.slow
def test_the_methods_example_runs(run, tmp_path):
    printed = run("methods")
    assert printed.count("\n") == 6
    assert "left for later releases: epsilon 0" in printed


@pytest.mark.slow
def test_the_selection_example_runs(run, tmp_path):
    printed = run("selection")
    of_regression = nolook.LinearRegression().plan().guarantee.mechanisms
    assert printed.count("released: ") == 2 + len(
        of_regression
    )  # the number of rows, and the features
    assert "left for later releases: epsilon 1" in printed


@pytest.mark.slow
def test_the_patients_example_runs(run, tmp_path):
    printed = run("patients")
    assert "each release protects a patient named by 'patient_id', with all its rows" in printed
    assert "left for later releases: epsilon 0.5," in printed
    assert "readmitted: " in printed
    ((counted, slope),) = re.findall(r"about ([\d,]+) patients.*nights +(\S+)", printed, re.DOTALL)
    # 6,000 patients with some 24,000 visits; a night costs 450, and illness goes with both.
    assert abs(int(counted.replace(",", "")) - 6000) < 400
    assert 350 < float(slope) < 650
    with (tmp_path / "visits.csv").open(encoding="utf-8") as visits:
        whose = Counter(line.split(";")[0] for line in visits)
    assert len(whose) == 6000 + 1
    assert max(whose.values()) == 60
    model = nolook.load(tmp_path / "visits.model.json")
    assert (model.privacy_.private, model.privacy_.unit.column) == (True, "patient_id")
    for page in ("visits.html", "nights.html"):
        assert "patients" in (tmp_path / page).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_roc_example_runs(run, tmp_path):
    printed = run("roc")
    assert printed.startswith("AUC 0.9")
    assert "left for later releases: epsilon 0.5" in printed
    assert (tmp_path / "roc.png").stat().st_size > 10_000


@pytest.mark.slow
def test_the_outcome_example_runs(run, tmp_path):
    printed = run("outcome")
    for figure in ("AUC", "average precision", "base rate"):
        ((value, low, high),) = re.findall(rf"{figure} (\S+), .* from (\S+) to (\S+)", printed)
        assert 0.0 < float(low) <= float(value) <= float(high) < 1.0
    assert "left for later releases: epsilon 0.5" in printed
    with nolook.Ledger(tmp_path / "bank.ledger") as ledger:
        assert [entry.details.table for entry in ledger.history()] == ["bank_marketing.parquet"] * 2
    assert nolook.load(tmp_path / "bank.model.json").privacy_.private
    assert (tmp_path / "bank.model.html").stat().st_size > 10_000
    page = (tmp_path / "bank.evaluation.html").read_text(encoding="utf-8")
    assert "The model was fitted to a table of the same name" in page


@pytest.mark.slow
def test_the_calibration_example_runs(run, tmp_path):
    printed = run("calibration")
    assert "p-value 0.0001\n" in printed
    assert "left for later releases: epsilon 0.5" in printed
    assert (tmp_path / "calibration.png").stat().st_size > 10_000


@pytest.mark.slow
def test_the_tutorial_on_curves_finds_what_a_line_misses(run, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    printed = run("tutorials/4_bent")
    assert "hour: a curve" in printed
    found = re.findall(r"at +(\d+) o'clock: (\S+) bicycles", printed)
    height = {int(hour): int(each) for hour, each in found}
    # Means are 420 and 295 more at six than at four and at ten; a line rises or falls.
    assert min(height[18] - height[4], height[18] - height[22]) > 80
    lines, curves = re.findall(r"R2 (\S+), from", printed)
    assert float(curves) > float(lines) + 0.1


@pytest.mark.slow
def test_the_federated_example_runs(run, tmp_path):
    printed = run("federated")
    assert "2000 owners reported to both servers" in printed
    said = " ".join(printed.split())
    assert "2,000 reports count. Not counted: 1 that the servers do not agree on" in said
    assert "epsilon = 1, delta = 0" in said
    assert "deposits has ended at both servers" in printed
    released = nolook.load(tmp_path / "deposits.roc.json")
    # The exact numbers are 0.893 and 234; noise as large has a chance below one in 10^8.
    assert released.auc_ > 0.25
    assert abs(released.n_positive_ - 234) < 600
    assert (tmp_path / "deposits.html").stat().st_size > 10_000
    for role in (0, 1):
        with nolook.Ledger(tmp_path / f"server{role}" / "ledger") as ledger:
            assert ledger.spent.epsilon == 1.0
        # What the owners sent, some 550 bytes each, is deleted once it has been added up.
        assert (tmp_path / f"server{role}/state/deposits/state.sqlite").stat().st_size < 500_000
