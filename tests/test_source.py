"""The habits of the source that no linter checks."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import nolook
from scripts import code_lines
from tests.conftest import ROOT

LONGEST_MODULE = 600
LONGEST_FUNCTION = 45  # lines of code, the docstring apart

ROOMS = (Path(nolook.__file__).parent, ROOT / "papers", ROOT / "contrib/flower/nolook_flower")
MODULES = sorted(path for room in ROOMS for path in room.rglob("*.py"))


def name_of(path: Path) -> str:
    (room,) = (room for room in ROOMS if path.is_relative_to(room))
    return path.relative_to(room.parent).as_posix()


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def is_public(path: Path) -> bool:
    return not any(re.fullmatch(r"_(?!_).*", part) for part in name_of(path).split("/"))


def test_a_module_is_one_subject_and_a_public_one_says_what_it_offers():
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        assert ast.get_docstring(tree), path
        assert len(text.splitlines()) <= LONGEST_MODULE, path
        declared = {
            target.id
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        assert ("__all__" in declared) is is_public(path), path
        assert "object.__setattr__" not in text, path  # what is frozen stays so
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert length(node) <= LONGEST_FUNCTION, (path, node.name)


def test_records_are_of_one_kind():
    package = Path(nolook.__file__).parent
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert re.search(r"\bdataclass(es)?\b|\bnamedtuple\b", text) is None, path.name
        # A record that is unpacked may be a tuple: a comment above it says who does.
        tuples = re.findall(r"(.*)\nclass (\w+)\(.*\bNamedTuple\b", text)
        assert [name for above, name in tuples if not above.startswith("# A tuple: ")] == [], path


@pytest.mark.slow  # `make rooms` checks the same
def test_no_room_grows_beyond_its_budget_or_its_ceiling():
    lines, tokens = code_lines.counts()
    limits = code_lines.read_limits()
    assert code_lines.excesses(limits, lines, tokens) == []
    # A ceiling goes down with its room: python scripts/code_lines.py --lower
    assert code_lines.lowered(limits, lines, tokens) == limits


def test_what_counts_as_code():
    head = '"""Words."""\n\nimport os\n\n__all__ = ["f"]\n\n'
    text = head + '# why\ndef f():\n    """More."""\n    return 1\n'
    assert code_lines.python_counts(text) == (2, 7)
    longer = text.replace("return 1", "return 1 + 1")
    assert code_lines.python_counts(longer) == (2, 9)
    page = "<p>Words of a page</p>{{ rows | length }}"
    assert code_lines.other_tokens(Path("page.html"), page) == 3
    assert code_lines.other_tokens(Path("page.js"), "f(1)") == 4


def test_a_room_above_its_budget_may_only_shrink():
    limits = {"big": {"budget": 10, "lines": 12}, "small": {"budget": 10}}
    lines, tokens = Counter(big=12, small=10), Counter(big=100, small=100)
    assert code_lines.excesses(limits, lines, tokens) == []
    assert len(code_lines.excesses(limits, lines + Counter(big=1), tokens)) == 1
    assert len(code_lines.excesses(limits, lines + Counter(small=1), tokens)) == 1
    assert len(code_lines.excesses(limits, lines, tokens + Counter(small=1))) == 1
    assert len(code_lines.excesses(limits, lines + Counter(new=1), tokens)) == 1
    shrunk = code_lines.lowered(limits, Counter(big=11, small=3), tokens)
    assert shrunk == {"big": {"budget": 10, "lines": 11}, "small": {"budget": 10}}
    within = code_lines.lowered(limits, Counter(big=9), tokens)
    assert within == {"big": {"budget": 10}, "small": {"budget": 10}}
    assert code_lines.lowered(limits, lines + Counter(big=5), tokens) == limits


def test_what_a_function_counts_as_code():
    (function,) = ast.parse('def f():\n    """Words."""\n    x = 1\n\n    return x\n').body
    assert length(function) == 3
    (empty,) = ast.parse('def f():\n    """Words."""\n').body
    assert length(empty) == 0


def test_nothing_below_the_federation_names_it():
    package = Path(nolook.__file__).parent
    below = [path for path in MODULES if path.is_relative_to(package)]
    below = [path for path in below if path.relative_to(package).parts[0] != "federated"]
    words = re.compile(r"\b(federat|flower)", re.IGNORECASE)
    assert [path.name for path in below if words.search(path.read_text(encoding="utf-8"))] == []
