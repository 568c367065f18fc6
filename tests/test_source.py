"""The habits of the source that no linter checks."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import nolook
from tests.conftest import ROOT

LONGEST_MODULE = 400
LONGEST_FUNCTION = 45  # lines of code, the docstring apart

ROOMS = (Path(nolook.__file__).parent, ROOT / "papers", ROOT / "contrib/flower/nolook_flower")
MODULES = sorted(path for room in ROOMS for path in room.rglob("*.py"))


def name_of(path: Path) -> str:
    (room,) = (room for room in ROOMS if path.is_relative_to(room))
    return path.relative_to(room.parent).as_posix()


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_small_and_says_what_it_offers(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    assert len(text.splitlines()) <= LONGEST_MODULE
    declared = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    assert "__all__" in declared
    assert "object.__setattr__" not in text  # what is frozen stays so
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert code_lines(node) <= LONGEST_FUNCTION, node.name


def test_what_a_function_counts_as_code():
    (function,) = ast.parse('def f():\n    """Words."""\n    x = 1\n\n    return x\n').body
    assert code_lines(function) == 3
    (empty,) = ast.parse('def f():\n    """Words."""\n').body
    assert code_lines(empty) == 0


def test_nothing_below_the_federation_names_it():
    package = Path(nolook.__file__).parent
    below = [path for path in MODULES if path.is_relative_to(package)]
    below = [path for path in below if path.relative_to(package).parts[0] != "federated"]
    words = re.compile(r"\b(federat|flower)", re.IGNORECASE)
    assert [path.name for path in below if words.search(path.read_text(encoding="utf-8"))] == []
