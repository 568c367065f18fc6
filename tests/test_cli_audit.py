"""``nolook audit``: the list, a run, and what it says of a fault."""

from __future__ import annotations

import pytest

import nolook.cli
from nolook.audit import findings
from nolook.audit.catalogue import catalogue

CASES = catalogue()


def test_without_a_name_it_lists_what_can_be_audited(cli):
    status, out, _ = cli("audit")
    assert status == 0
    assert all(name in out for name in CASES)


def test_an_audit_prints_its_findings_and_writes_a_page(cli, tmp_path):
    words = ("audit", "laplace-count", "--runs", 2000, "--random-state", 1)
    status, out, _ = cli(*words, "--output", "page.md")
    assert status == 0
    assert out.count("2,000 draws: kept") == 1
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| laplace-count"))
    assert row.startswith("| laplace-count | add-remove | epsilon 1 | 0.")
    assert row.endswith("| 1.000 | 1.00 | 2,000 | kept |")
    assert f"nolook {nolook.__version__}" in page
    assert cli(*words, "--quiet") == (0, "", "")


@pytest.mark.slow
def test_the_same_seed_draws_the_same_whatever_else_is_audited(cli):
    seeded = ("--runs", 2000, "--random-state", 1)
    together = cli("audit", "laplace-count", "group-sums", *seeded)[1].splitlines()
    alone = cli("audit", "group-sums", *seeded)[1].splitlines()
    assert len(alone) == 1
    assert set(alone) <= set(together)
    assert cli("audit", "group-sums", "--runs", 2000, "--random-state", 2)[1].splitlines() != alone


def test_a_fault_ends_with_a_status_of_its_own(cli, monkeypatch):
    broken = findings.Finding(CASES["laplace-count"], 200_000, 1.01, 1.0, 0.5, 1.0)
    assert broken.verdict == "broken"
    monkeypatch.setattr(findings, "audit_all", lambda *_: iter([broken]))
    status, out, _ = cli("audit", "laplace-count")
    assert status == 1
    assert out.strip().endswith("200,000 draws: broken")
