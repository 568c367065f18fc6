from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

LONGEST_EXAMPLE = 10
LONGEST = 120


@pytest.fixture(scope="module")
def readme(project_root) -> str:
    return (project_root / "README.md").read_text(encoding="utf-8")


def python_examples(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def shell_commands(text: str) -> list[list[str]]:
    lines = re.findall(r"^    (nolook .*|make .*)$", text, flags=re.MULTILINE)
    return [line.split("#")[0].split() for line in lines]


def test_the_python_example_runs_as_printed_and_finds_something(readme, project_root, tmp_path):
    (example,) = python_examples(readme)
    lines = [line for line in example.splitlines() if line.strip()]
    assert len(lines) <= LONGEST_EXAMPLE
    # A folder of its own, so that what the example writes does not land in the repository.
    place = tmp_path / "examples" / "data" / "diamonds.parquet"
    place.parent.mkdir(parents=True)
    place.symlink_to(project_root / place.relative_to(tmp_path))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "row was in the table" in " ".join(done.stdout.split())
    ends = re.findall(r"(-?[\d.]+) to (-?[\d.]+)", done.stdout.partition("Coefficient")[2])
    assert any(float(low) * float(high) > 0.0 for low, high in ends)
    assert re.search(r"log_price is [\d.]+ (higher|lower) where x is", done.stdout)
    assert {"diamonds.ledger", "diamonds.model.json"} <= {path.name for path in tmp_path.iterdir()}


def test_the_commands_exist(readme, project_root, cli):
    commands = shell_commands(readme)
    targets = {words[1] for words in commands if words[0] == "make"}
    makefile = (project_root / "Makefile").read_text(encoding="utf-8")
    assert targets == {"demo", "test"}
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)
    for words in (words for words in commands if words[0] == "nolook"):
        name = words[1:2]
        options = {word for word in words if word.startswith("--")}
        done = cli(*name, "--help")
        assert done.status == 0, done.err
        for option in options:
            assert option in done.out


def test_the_readme_is_short(readme):
    assert len(readme.splitlines()) <= LONGEST


def test_the_comparison_is_what_was_printed(readme, project_root):
    printed = (project_root / "benchmarks" / "results" / "comparison.md").read_text("utf-8")
    (table,) = re.findall(r"<!-- table -->\n\n((?:\|.*\n)+)", printed)
    assert table in readme


def test_the_size_is_what_was_measured(readme, project_root):
    printed = (project_root / "benchmarks" / "results" / "install.md").read_text("utf-8")
    sizes = [int(size) for size in re.findall(r"^\| 3\.\d+ \| (\d+) \|", printed, re.MULTILINE)]
    assert len(sizes) == 3
    assert f"{max(sizes)} MB" in readme


def test_a_draft_is_refused_until_it_is_corrected(project_root, tmp_path, cli):
    """The fit that follows needs no more; the commands are those of the page on tables."""
    page = (project_root / "docs" / "tables.md").read_text(encoding="utf-8")
    draft, fit = (
        shlex.split(line)[1:]
        for line in page.splitlines()
        if line.startswith(("nolook schema ", "nolook fit people.csv --schema people.toml"))
    )
    rows = (f"{20 + i % 40};{150 + i % 60};{1000 + i % 40 * 25},5;{i}\n" for i in range(4000))
    (tmp_path / "people.csv").write_text("age;height;income;patient_id\n" + "".join(rows))

    assert cli(*draft).status == 0
    refused = cli(*fit)
    assert refused.status == 2
    assert "draft" in refused.err
    place = tmp_path / "people.toml"
    place.write_text(re.sub(r"(?m)^draft = true$", "", place.read_text()))
    done = cli(*fit)
    assert done.status == 0, done.err
    assert list(tmp_path.glob("*.model.json"))
