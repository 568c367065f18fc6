from __future__ import annotations

import importlib.util
import subprocess
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
    check_proofs.stamp(sorted(folder.glob("*.md")), [tmp_path])
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
    assert line.endswith("release of some.py, or what that uses, changed since this was read")
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
        check_proofs.stamp([room / "one.md"], roots)
        assert check_proofs.problems(roots) == []


def test_a_row_that_proves_nothing_is_reported(tmp_path, source, check_proofs):
    source.with_name("none.py").write_text("import math\n")
    rows = ["`gone.py: f`", "`some.py: gone`", "`some.py: Rule.gone`", "`none.py`"]
    source.with_name("bad.md").write_text("".join(f"| {row} | `` |\n" for row in rows))
    found = check_proofs.problems([tmp_path])
    for wrong in ("is no gone.py", "no gone", "no Rule.gone", "none.py defines nothing"):
        assert any(wrong in line for line in found), wrong
    assert len(found) == 4


def test_a_file_is_proved_whole(tmp_path, source, check_proofs):
    source.with_name("rest.md").write_text("| `some.py` | `` |\n")
    check_proofs.stamp([source.with_name("rest.md")], [tmp_path])
    assert check_proofs.problems([tmp_path]) == []
    source.write_text(SOURCE.replace('"rule"', '"a rule"'))
    assert any("rest.md: some.py" in line for line in check_proofs.problems([tmp_path]))


USER = {
    "a name": "from pkg.helpers import rounded\n\ndef release(x):\n    return rounded(x)\n",
    "another name": ("from pkg.helpers import rounded as r\n\ndef release(x):\n    return r(x)\n"),
    "a module": "from pkg import helpers\n\ndef release(x):\n    return helpers.rounded(x)\n",
    "a dotted module": ("import pkg.helpers as h\n\ndef release(x):\n    return h.rounded(x)\n"),
    "another file": "from pkg.more import rounded\n\ndef release(x):\n    return rounded(x)\n",
    "the package": "from pkg import rounded\n\ndef release(x):\n    return rounded(x)\n",
    "a base": "from pkg.helpers import Base\n\nclass release(Base):\n    pass\n",
    "an annotation": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from pkg.helpers import Base\n"
        "\ndef release(x: Base):\n    return x.value()\n"
    ),
}
HELPERS = """
STEP = 0.5

def rounded(x):
    return _down(x / STEP)

def _down(x):
    return int(x)

def unused(x):
    return x

class Base:
    def value(self):
        return rounded(1)
"""


@pytest.fixture
def package(tmp_path, check_proofs):
    """Write a package whose one release uses what another file has; return its folder."""

    def make(user):
        root = tmp_path / "pkg"
        (root / "privacy").mkdir(parents=True)
        files = {
            "__init__.py": "from pkg.more import rounded\n",
            "more.py": "from pkg.helpers import rounded\n",
            "helpers.py": HELPERS,
            "privacy/user.py": user,
            "privacy/user.md": "| `user.py: release` | `` |\n",
        }
        for name, text in files.items():
            (root / name).write_text(text)
        check_proofs.stamp([root / "privacy/user.md"], [root])
        assert check_proofs.problems([root]) == []
        return root

    return make


@pytest.mark.parametrize("user", USER.values(), ids=USER)
@pytest.mark.parametrize(
    ("old", "new", "matters"),
    [
        ("int(x)", "round(x)", True),
        ("STEP = 0.5", "STEP = 0.25", True),
        ("/ STEP", "* STEP", True),
        ("return x\n", "return -x\n", False),
        ("(1)", "(1)  # one", False),
    ],
)
def test_what_other_files_do_makes_a_proof_stale(package, check_proofs, user, old, new, matters):
    root = package(user)
    assert old in HELPERS
    (root / "helpers.py").write_text(HELPERS.replace(old, new))
    stale = check_proofs.problems([root])
    assert len(stale) == matters
    assert all("privacy/user.md: release of user.py, or what that uses" in line for line in stale)


def test_what_another_proof_names_is_read_there_alone(package, check_proofs, capsys):
    root = package(USER["a name"])
    (root / "helpers.md").write_text("| `helpers.py: rounded` | `` |\n")
    check_proofs.stamp([root / "helpers.md", root / "privacy/user.md"], [root])
    assert check_proofs.problems([root]) == []
    (root / "helpers.py").write_text(HELPERS.replace("int(x)", "round(x)"))
    (stale,) = check_proofs.problems([root])
    assert "pkg/helpers.md: rounded of helpers.py" in stale
    check_proofs.main(["--roots", str(root), "--who", f"{root / 'helpers.py'}: rounded"])
    covers, rests = capsys.readouterr().out.splitlines()
    assert covers.endswith("helpers.md covers it")
    assert rests.endswith("user.md rests on the proof of it")


def test_which_definition_changed_is_named(package, check_proofs):
    root = package(USER["a name"])
    who = ["-c", "user.name=x", "-c", "user.email=x@x.invalid"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "Start"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    changed = HELPERS.replace("int(x)", "round(x)").replace("return x\n", "return -x\n")
    (root / "helpers.py").write_text(changed)
    (stale,) = check_proofs.problems([root])
    assert stale.endswith(f"since this was read ({root / 'helpers.py'}: _down)")
