"""What the pages of the site say: their examples run, their links and figures exist."""

from __future__ import annotations

import importlib.util
import re
import sys

import matplotlib as mpl
import pytest

from scripts import measured, pages, pictures, snippets
from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
TEXTS = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)?(?:#([^)\s]+))?\)")
RUNNING = [
    page
    for page in PAGES
    if re.search(r"^```(python|bash)$", pages.without_blocks(page.read_text()), re.MULTILINE)
]


def name_of(path):
    return path.stem


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING, ids=name_of)
def test_every_example_runs_and_prints_what_the_page_says(page, tmp_path):
    snippets.run_page(page, tmp_path)


def test_the_pages_have_examples():
    assert len(RUNNING) >= 8


def test_a_page_says_where_its_tables_come_from(tmp_path, cli):
    folder = tmp_path / "tables"
    assert cli("examples", folder).status == 0
    names = {path.stem for path in folder.iterdir()}
    for page in RUNNING:
        text = page.read_text(encoding="utf-8")
        first = text.partition("\n\n")[2]
        reads = re.search(rf"\b({'|'.join(names)})\.(parquet|csv|sqlite|duckdb)\b", text)
        assert bool(reads) == first.startswith("The examples on this page read"), page
    again = cli("examples", folder)
    assert again.status == 2
    assert "new or empty folder" in again.err


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


def test_every_figure_is_printed_by_a_benchmark_and_used():
    used = {name for page in PAGES for _, name in pages.FIGURE.findall(page.read_text())}
    assert used == set(measured.FIGURES)
    for name in used:
        assert re.fullmatch(r"-?[\d.]+", measured.figure(name))


def test_an_unknown_figure_is_refused(monkeypatch):
    monkeypatch.setitem(measured.FIGURES, "lost", ("accuracy", "no such line (.*)", min))
    with pytest.raises(LookupError, match="no line like"):
        measured.figure("lost")


@pytest.mark.slow  # `make pages` checks the same
def test_every_page_is_up_to_date_and_plain(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["pages", "--check"])
    assert pages.main() == 0, capsys.readouterr().err


PARTS = """# A page

R2 is 7<!--gap-0.1--> below, and

<!-- include results/one.md after "`One`" before "## Two" -->
old
<!-- end -->

- an item

  <!-- code one.py def second -->
  <!-- end -->

<!-- code one.py from "second" -->

<!-- end -->

<!-- contents results/*.md -->
<!-- end -->

<!-- contents -->

- [kept](one.py)

<!-- end -->
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the docs of a repository with one page."""
    docs = tmp_path / "docs"
    (docs / "results").mkdir(parents=True)
    text = "# `One`\n\n[x](two.md)\n<!-- part -->\n## Two\n"
    (docs / "results" / "one.md").write_text(text)
    (docs / "one.py").write_text("first = 1\n\n\ndef second():\n    return 2\n\n\nlast = 3\n")
    (docs / "page.md").write_text(PARTS)
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    return docs


def run_pages(monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["pages", *options])
    return pages.main()


def test_parts_of_a_page_are_written_and_found_out_of_date(folder, monkeypatch, capsys):
    assert run_pages(monkeypatch, "--check") == 1
    assert "page.md: out of date" in capsys.readouterr().err
    assert run_pages(monkeypatch) == 0
    text = (folder / "page.md").read_text()
    assert f"R2 is {measured.figure('gap-0.1')}<!--gap-0.1--> below" in text
    assert '"## Two" -->\n\n[x](results/two.md)\n<!-- part -->\n\n<!-- end -->' in text
    assert "  ```python\n  def second():\n      return 2\n  ```\n\n  <!-- end -->" in text
    assert "```python\ndef second():\n    return 2\n\n\nlast = 3\n```" in text
    assert "\n- [One](results/one.md)\n" in text
    assert "\n- [kept](one.py)\n" in text
    assert run_pages(monkeypatch, "--check") == 0
    (folder / "results" / "one.md").write_text("# `One`\n\nchanged\n## Two\n")
    assert run_pages(monkeypatch, "--check") == 1


@pytest.mark.parametrize(
    "raw", ["```{note} x", ":::{tip}", "{measured}`gap-1`", "a {class}`~nolook.ECDF`"]
)
def test_what_a_code_host_shows_raw_is_refused(folder, monkeypatch, capsys, raw):
    (folder / "page.md").write_text(f"# A\n\n{raw}\n")
    assert run_pages(monkeypatch, "--check") == 1
    assert "cannot be read on a code host" in capsys.readouterr().err


def test_the_site_has_navigation_and_references(monkeypatch):
    gathered = extension("gathered", monkeypatch)
    listed = (
        "## Do\n\n<!-- contents x/*.md -->\n\n- [A `b`](a.md)\n- [C](c/d.rst)\n\n<!-- end -->\n"
    )
    tree = "```{toctree}\n:maxdepth: 1\n:caption: Do\n\nA `b` <a>\nC <c/d>\n```\n"
    assert gathered.navigation(listed) == tree
    text = "`ECDF` `nolook.save` `Other` [`ECDF`](x)\n# `ECDF`\n```python\n`ECDF`\n```\n"
    named = "{py:obj}`ECDF <nolook.ECDF>` {py:obj}`nolook.save <nolook.save>`"
    assert gathered.referenced(text) == text.replace("`ECDF` `nolook.save`", named, 1)


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
        # A machine has letters of its own for a screen, whose size is in a PNG's first chunk, and
        # its processor rounds the boxes that names of clips follow from.
        drawn, kept = (re.sub(rb"\bp[0-9a-f]{10}\b", b"", each) for each in (drawn, kept))
        assert drawn[:24] == kept[:24] if picture.suffix == ".png" else drawn == kept
