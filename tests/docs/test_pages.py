"""What the pages of the site say: their examples run, their links and figures exist."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

from scripts import pictures
from tests.conftest import ROOT
from tests.docs.made import write_tables

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
TEXTS = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
BLOCK = re.compile(r"^```(\S+).*?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)?(?:#([^)\s]+))?\)")
RUNNING = [
    page for page in PAGES if re.search(r"^```(python|bash)$", page.read_text(), re.MULTILINE)
]
# Written by Sphinx.
TUTORIALS = {f"gallery/{path.stem}" for path in (ROOT / "examples" / "tutorials").glob("[0-9]*")}


def name_of(path):
    return path.stem


def shell(script):
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, script + done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING, ids=name_of)
def test_every_example_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch, capsys):
    write_tables(tmp_path)
    monkeypatch.chdir(tmp_path)
    variables = {}
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "bash":
            shell(code)
        elif language == "text":  # what the block before it printed
            assert capsys.readouterr().out == code
        elif language == "python":
            capsys.readouterr()
            exec(compile(code, f"{page.name}", "exec", dont_inherit=True), variables)


def test_the_pages_have_examples():
    assert len(RUNNING) >= 8


def anchors(path):
    """Return the anchors of a page's headings, as the site and the repository have them."""
    heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("text", TEXTS, ids=name_of)
def test_links_lead_somewhere(text):
    content = re.sub(
        r"```.*?^```", "", text.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for path, anchor in LINK.findall(content):
        if path in TUTORIALS:
            continue
        target = text.parent / path if path else text
        assert target.exists(), path
        if anchor:
            assert anchor in anchors(target), anchor


@pytest.mark.parametrize("text", TEXTS, ids=name_of)
def test_what_make_is_asked_for_is_there(text):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    asked = re.findall(r"(?:`|^ {4})make ([a-z-]+)", text.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(asked) <= targets


def extension(name, monkeypatch):
    """Import an extension of the site."""
    monkeypatch.syspath_prepend(DOCS / "extensions")
    spec = importlib.util.spec_from_file_location(name, DOCS / "extensions" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_figure_is_printed_by_a_benchmark_and_used(monkeypatch):
    measured = extension("measured", monkeypatch)
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    used = set(re.findall(r"\{measured\}`([^`]+)`", text))
    assert used == set(measured.FIGURES)
    for name in used:
        assert re.fullmatch(r"-?[\d.]+", measured.figure(name))


def test_an_unknown_figure_is_refused(monkeypatch):
    measured = extension("measured", monkeypatch)
    measured.FIGURES["lost"] = ("accuracy", "no such line (.*)", min)
    with pytest.raises(LookupError, match="no line like"):
        measured.figure("lost")


def test_links_of_a_gathered_page_lead_on(monkeypatch):
    gathered = extension("gathered", monkeypatch)
    where = {ROOT / "papers" / "README.md": DOCS / "gathered" / "papers.md"}
    text = "[a](../papers) [b](../LICENSE) [c](https://a.example) [d](#part) `../papers/README.md`"
    moved = gathered.linked(text, DOCS, DOCS / "gathered" / "proofs" / "x.md", where)
    assert moved == (
        "[a](../papers.md) [b](../../../LICENSE) [c](https://a.example) [d](#part)"
        " [`../papers/README.md`](../papers.md)"
    )


def test_every_public_name_has_its_room(monkeypatch):
    import nolook

    names = [
        name for room in extension("reference", monkeypatch).listed().values() for name in room
    ]
    assert sorted([*names, "__version__"]) == sorted(nolook.__all__)


@pytest.mark.parametrize(
    "name", ["accuracy", "coefficients", pytest.param("screens", marks=pytest.mark.slow)]
)
def test_the_pictures_are_of_the_results(name, tmp_path):
    with mpl.rc_context(pictures.STYLE):
        getattr(pictures, name)(tmp_path)
    assert name == "screens" or list(tmp_path.iterdir())
    for picture in tmp_path.iterdir():
        drawn, kept = picture.read_bytes(), (DOCS / "pictures" / picture.name).read_bytes()
        # A machine has letters of its own for a screen, whose size is in a PNG's first chunk.
        assert drawn[:24] == kept[:24] if picture.suffix == ".png" else drawn == kept
