"""The page on federations, from the first certificate to the answer: its steps run as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import nolook
from tests.conftest import ROOT
from tests.federated.servers import free_ports

STEP = re.compile(r"^ *```sh\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
ROWS = 1200
PATIENCE = 120


def steps():
    """Return the commands of the steps, in order."""
    page = (ROOT / "docs" / "federated.md").read_text(encoding="utf-8")
    text = page[page.index("## Two servers") : page.index("### A hospital that is")]
    return [re.sub(r"^ {3}", "", step, flags=re.MULTILINE) for step in STEP.findall(text)]


def here(step, ports):
    """Return a step for one machine: nothing but the addresses of both servers is changed."""
    for role, port in enumerate(ports):
        step = step.replace(f"https://server{role}.example:844{role}", f"https://localhost:{port}")
        step = step.replace(f"--host 0.0.0.0 --port 844{role}", f"--host localhost --port {port}")
    assert "example" not in step
    assert "844" not in step
    return step


@pytest.mark.slow
def test_the_steps_run_as_they_are_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    monkeypatch.setenv("PATH", programs)
    chance = np.random.default_rng(4)
    score = chance.uniform(0, 1, ROWS)
    deposit = chance.uniform(0, 1, ROWS) < score
    lines = [f"{value},{int(is_one)}" for value, is_one in zip(score, deposit, strict=True)]
    Path("scores.csv").write_text("\n".join(["score,deposit", *lines]) + "\n")
    ports, printed = free_ports(2), []
    with ExitStack() as stack:
        for step in steps():
            command = here(step, ports)
            if "federated serve" in command:
                server = stack.enter_context(
                    subprocess.Popen(["bash", "-c", f"exec {command}"], stdout=subprocess.PIPE)
                )
                stack.callback(server.terminate)
                assert b" serves deposits-2026 at https://" in server.stdout.readline()
                continue
            done = subprocess.run(
                ["bash", "-e", "-c", command], capture_output=True, timeout=PATIENCE, check=False
            )
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            printed.append(done.stdout.decode())
    found = nolook.load("deposits.roc.json")
    assert found.n_positive_ + found.n_negative_ == pytest.approx(ROWS + 1)
    assert (found.scored_.score, found.scored_.target) == ("score", "deposit")
    said = " ".join(" ".join(printed).split())
    assert f"{ROWS + 1:,} reports count." in said
    assert "Not counted" not in said
    assert "deposits-2026 has ended at both servers" in said
    assert Path("deposits.html").exists()
