from __future__ import annotations

import subprocess
import sys

import nolook


def test_the_diamonds_example_runs(project_root, tmp_path):
    script = project_root / "examples" / "diamonds.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert "left for later releases: epsilon 2," in done.stdout
    assert nolook.load(tmp_path / "diamonds.model.json").privacy_.private
    assert (tmp_path / "diamonds.html").stat().st_size > 10_000
    assert (tmp_path / "diamonds.ledger").is_file()


def test_the_methods_example_runs(project_root, tmp_path):
    script = project_root / "examples" / "methods.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert done.stdout.count("\n") == 7
    assert "left for later releases: epsilon 0" in done.stdout


def test_the_selection_example_runs(project_root, tmp_path):
    script = project_root / "examples" / "selection.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert done.stdout.count("spent on: ") == 1 + 5
    assert "left for later releases: epsilon 1" in done.stdout


def test_the_roc_example_runs(project_root, tmp_path):
    script = project_root / "examples" / "roc.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith("AUC 0.9")
    assert "left for later releases: epsilon 0.5" in done.stdout
    assert (tmp_path / "roc.png").stat().st_size > 10_000


def test_the_calibration_example_runs(project_root, tmp_path):
    script = project_root / "examples" / "calibration.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert "p-value 0.0001\n" in done.stdout
    assert "left for later releases: epsilon 0.5" in done.stdout
    assert (tmp_path / "calibration.png").stat().st_size > 10_000
