from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_proofs.py"
SOURCE = """
'''A mechanism.'''
from noise import laplace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noise import Source

__all__ = ["release"]

SCALE = 2.0  # of the noise
LOOSE = {"a": 1}


class Rule:
    '''A rule.'''

    rate = 0.5

    def kept(self, x):
        return self._share() * x

    def _share(self):
        return self.rate

    def shown(self):
        return "rule"


def _noise(x: int, source: Source) -> int:
    return x + laplace(SCALE, source)


def release(x, source):
    '''Add noise.'''
    return _noise(x, source)


def unrelated(rule: Rule) -> float:
    return rule.kept(1)
"""
PROOF = """# A proof

| Proved | Digest |
| --- | --- |
| `some.py: release` | `` |
| `some.py: Rule.kept` | `` |
"""
# Named apart, so that a change of one tells which rows it reaches.
REST = """# The rest

| Proved | Digest |
| --- | --- |
| `some.py: unrelated` | `` |
| `some.py: LOOSE` | `` |
"""


@pytest.fixture(scope="module")
def check_proofs():
    spec = importlib.util.spec_from_file_location("check_proofs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def source(tmp_path, check_proofs):
    """A mechanism whose proofs are up to date."""
    folder = tmp_path / "privacy" / "mechanisms"
    folder.mkdir(parents=True)
    for name, text in {"some.py": SOURCE, "some.md": PROOF, "rest.md": REST}.items():
        (folder / name).write_text(text)
    check_proofs.stamp(sorted(folder.glob("*.md")))
    assert check_proofs.problems([tmp_path]) == []
    return folder / "some.py"


@pytest.fixture
def stale(tmp_path, source, check_proofs):
    """The names that some.md has to be read again for after a replacement in the source."""

    def names(old, new):
        assert old in SOURCE
        source.write_text(SOURCE.replace(old, new))
        found = [line for line in check_proofs.problems([tmp_path]) if "some.md: " in line]
        return {name for name in ("release", "Rule.kept") if any(name in line for line in found)}

    return names


@pytest.mark.slow
def test_the_proofs_are_up_to_date(check_proofs):
    assert check_proofs.problems(check_proofs.ROOTS) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'''Add noise.'''", "'''Add much noise.'''"),
        ("    '''A rule.'''\n", ""),
        ("# of the noise", "# of all noise"),
        ("x + laplace(SCALE, source)", "x + laplace(\n        SCALE,\n        source,\n    )"),
        ("x: int, source: Source) -> int", "x: float, source: object) -> float"),
        ("import Source", "import Source, Other"),
        ("rule.kept(1)", "rule.kept(2)"),
        ('"rule"', '"a rule"'),
        ('{"a": 1}', '{"a": 2}'),
    ],
)
def test_what_says_nothing_about_a_function_leaves_its_proof_alone(stale, old, new):
    assert stale(old, new) == set()


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("return _noise(x, source)", "return 2 * _noise(x, source)", {"release"}),
        ("return x + laplace", "return x - laplace", {"release"}),
        ("SCALE = 2.0", "SCALE = 2", {"release"}),
        ("import laplace", "import gauss as laplace", {"release"}),
        ("rate = 0.5", "rate = 0.25", {"Rule.kept"}),
        ("return self.rate", "return 1 - self.rate", {"Rule.kept"}),
        ("class Rule:", 'LOOSE["a"] = 3\n\nclass Rule:', {"release", "Rule.kept"}),
        ("class Rule:", "SCALE = 1.0\n\nclass Rule:", {"release"}),
        ("def _noise", "@twice\ndef _noise", {"release"}),
    ],
)
def test_what_a_function_does_or_uses_makes_its_proof_stale(stale, old, new, names):
    assert stale(old, new) == names


def test_a_number_cannot_move_out_of_sight(stale):
    helper = "return laplace(_scale(), source)\n\ndef _scale():\n    return 1.0"
    assert stale("return x + laplace(SCALE, source)", helper) == {"release"}


def test_a_class_that_stands_in_an_annotation_is_used(tmp_path, source, check_proofs):
    source.write_text(SOURCE.replace("rate = 0.5", "rate = 0.25"))
    found = check_proofs.problems([tmp_path])
    assert any("rest.md: unrelated of some.py" in line for line in found)


def test_a_proof_is_stale_until_it_is_stamped_itself(tmp_path, source, check_proofs, capsys):
    run = ["--roots", str(tmp_path)]
    source.write_text(SOURCE.replace("x + laplace", "x - laplace"))
    assert check_proofs.main(run) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("release of some.py, or what that uses there, changed since this was read")
    assert check_proofs.main([*run, "--stamp", str(source.with_name("rest.md"))]) == 1
    assert check_proofs.main([*run, "--stamp", str(source.with_name("some.md"))]) == 0
    source.write_text(SOURCE)
    assert check_proofs.main(run) == 1


@pytest.mark.parametrize(
    "code", ["def more():\n    pass\n", "class more:\n    pass\n", "more = 1\n"]
)
def test_what_no_proof_names_is_reported(tmp_path, source, check_proofs, code):
    source.write_text(SOURCE + code)
    (line,) = check_proofs.problems([tmp_path])
    assert line.endswith("privacy/mechanisms/some.py: no proof names more")


@pytest.mark.parametrize("folder", ["algorithms", "statistics"])
def test_whatever_releases_needs_a_proof(tmp_path, source, check_proofs, folder):
    room = tmp_path / folder
    room.mkdir()
    (room / "one.py").write_text(
        "from nolook.privacy.mechanisms.some import release\nx = release\n"
    )
    # Another root beside the first, as papers/ is beside the package.
    for roots in ([tmp_path], [source.parent, room]):
        (room / "one.md").write_text("")
        assert any("one.py: no proof names x" in line for line in check_proofs.problems(roots))
        (room / "one.md").write_text("| `one.py: x` | `` |\n")
        check_proofs.stamp([room / "one.md"])
        assert check_proofs.problems(roots) == []


def test_a_row_that_proves_nothing_is_reported(tmp_path, source, check_proofs):
    rows = ["`gone.py: f`", "`some.py: gone`", "`some.py: Rule.gone`", "`some.py`"]
    source.with_name("bad.md").write_text("".join(f"| {row} | `` |\n" for row in rows))
    found = check_proofs.problems([tmp_path])
    for wrong in ("is no gone.py", "no gone", "no Rule.gone", "`some.py` | `` | names no function"):
        assert any(wrong in line for line in found), wrong
    assert len(found) == 4
