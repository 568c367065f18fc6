from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

LONGEST_EXAMPLE = 10
RATIO_OF_A_MILLION = r"\| 1,000,000 \| \w+ \| quiet \| \S+ \| \S+ \| (\S+) \|"
# Of `linear`, the median table, for the budgets from the smallest on.
GAP = r"\| gap of linear \| {}(\S+)"


@pytest.fixture(scope="module")
def readme(project_root) -> str:
    return (project_root / "README.md").read_text(encoding="utf-8")


def python_examples(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def shell_commands(text: str) -> list[list[str]]:
    lines = re.findall(r"^    (nolook .*|make .*)$", text, flags=re.MULTILINE)
    return [line.split("#")[0].split() for line in lines]


def test_the_python_example_runs_as_printed(readme, demo_table, tmp_path):
    (example,) = python_examples(readme)
    lines = [line for line in example.splitlines() if line.strip()]
    assert len(lines) <= LONGEST_EXAMPLE
    # A folder of its own, so that what the example writes does not land in the repository.
    place = tmp_path / demo_table.relative_to(demo_table.parents[2])
    place.parent.mkdir(parents=True)
    place.symlink_to(demo_table)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "row" in done.stdout.splitlines()[-1]
    assert {"diamonds.ledger", "diamonds.model.json"} <= {path.name for path in tmp_path.iterdir()}


def test_the_commands_exist(readme, project_root):
    commands = shell_commands(readme)
    targets = {words[1] for words in commands if words[0] == "make"}
    makefile = (project_root / "Makefile").read_text(encoding="utf-8")
    assert targets == {"demo", "demo-federated", "test"}
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)
    for words in (words for words in commands if words[0] == "nolook"):
        name = [word for word in words[1:3] if word.isalpha()]
        options = {word for word in words if word.startswith("--")}
        done = subprocess.run(
            [Path(sys.executable).with_name("nolook"), *name, "--help"],
            env={**os.environ, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        for option in options:
            assert option in done.stdout


@pytest.mark.parametrize(
    ("said", "result", "printed", "which"),
    [
        (r"table (\S+) below that of ordinary", "accuracy", GAP.format(r"\S+ \| "), min),
        (r"at epsilon = 0.1, (\S+) at 0.3", "accuracy", GAP.format(r"\S+ \| \S+ \| "), min),
        (r"at 0.03 it is (\S+) below", "accuracy", GAP.format(""), min),
        (r"in (\S+) of the cases, for", "intervals", r"all intervals given: (\S+)", max),
        (r"column in (\S+)\. They", "intervals", r"least coverage of such a column: (\S+)", max),
        (r"one in (\S+) of the cases", "intervals", r"- share given at epsilon = 1: (\S+)", max),
        (r"was off by (\S+) \(root", "intervals", r"error of R2 over 14 tables, .*: (\S+)", max),
        (
            r"`lasso` on (\d+), and",
            "selected_regression",
            r"- moments before linear: better .* on (\d+) of",
            max,
        ),
        (
            r"more than (\S+) below \(`bench",
            "selected_regression",
            r"before linear: .* worst difference -(\S+),",
            max,
        ),
        *(
            (said, "distribution", printed, which)
            for said, printed, which in (
                (r"is (\S+) times that of Barczewski", r"neither smoothed, .*: (\S+) to", min),
                (r"and (\S+) to \S+ times where both", r"paper smoothed, .*: (\S+) to", min),
                (r"and \S+ to (\S+) times where both", r"paper smoothed, .*to (\S+)$", min),
                (r"removed it is (\S+) to", r"^- shares, .*both isotonic: (\S+)$", min),
                (r"removed it is \S+ to (\S+)", r"^- shares, .*both isotonic: (\S+)$", max),
                (r"shares: (\S+) to \S+ times", r"^\| counts, .*\| (\S+) \|$", min),
                (r"shares: \S+ to (\S+) times", r"^\| counts, .*\| (\S+) \|$", max),
                (r"off by (\S+) rows by epsilon", r"no range: .*epsilon: (\S+) ", max),
            )
        ),
        (r"features take (\S+) to \S+ times as long", "fit", RATIO_OF_A_MILLION, min),
        (r"features take \S+ to (\S+) times as long", "fit", RATIO_OF_A_MILLION, max),
    ],
)
def test_the_figures_quoted_were_printed(readme, project_root, said, result, printed, which):
    path = project_root / "benchmarks" / "results" / f"{result}.md"
    found = which(map(float, re.findall(printed, path.read_text(encoding="utf-8"), re.MULTILINE)))
    (quoted,) = re.findall(said, " ".join(readme.split()))
    assert float(quoted) == round(found, len(quoted.partition(".")[2]))


def test_the_second_example_ends_as_it_says(readme, tmp_path):
    """The draft is refused, the holder corrects it, and the fit that follows needs no more."""
    command = Path(sys.executable).with_name("nolook")
    draft, fit = (
        shlex.split(line.strip())[1:]
        for line in readme.splitlines()
        if line.startswith(("    nolook schema ", "    nolook fit people.csv --schema"))
    )
    rows = (f"{20 + i % 40};{1000 + i % 40 * 25},5;{i}\n" for i in range(4000))
    (tmp_path / "people.csv").write_text("age;income;patient_id\n" + "".join(rows))

    def run(words):
        return subprocess.run(
            [command, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    assert run(draft).returncode == 0
    refused = run(fit)
    assert refused.returncode == 2
    assert "draft" in refused.stderr
    place = tmp_path / "people.toml"
    place.write_text(re.sub(r"(?m)^draft = true$", "", place.read_text()))
    done = run(fit)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("*.model.json"))
