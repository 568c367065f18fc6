from __future__ import annotations

import importlib.metadata
from importlib.metadata import EntryPoint

import pytest

import nolook.cli
from nolook.cli._plug_ins import WithPlugIns


@pytest.fixture
def cli(monkeypatch, capsys):
    """Run the command line with these plug-ins; return its status and what it printed."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(nolook.cli, "_silence_libraries", lambda: None)

    def call(plug_ins, *words):
        points = [EntryPoint(name, value, "nolook.commands") for name, value in plug_ins.items()]
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: points)
        return nolook.cli._run(words), *capsys.readouterr()

    return call


@pytest.fixture
def leaving(tmp_path, monkeypatch):
    """Let a module be found that ends the program as soon as it is imported."""
    (tmp_path / "leaving_at_once.py").write_text("raise SystemExit(0)")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("leaving")
@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("nowhere.at_all:app", "ModuleNotFoundError"),
        ("json:no_such_name", "AttributeError"),
        ("json:dumps", "AttributeError"),
        ("leaving_at_once:app", "SystemExit"),
    ],
)
def test_a_broken_plug_in_is_one_line_and_stops_no_other_command(cli, value, error):
    plug_ins = {"broken": value, "federated": "nolook.federated.commands:federated_app"}
    for words in ([], ["batch", "--name", "x"]):
        status, out, err = cli(plug_ins, "broken", *words)
        assert (status, out) == (1, "")
        start = f"nolook: error: the commands of broken cannot be loaded ({error}); "
        assert err.startswith(start)
        assert err.count("\n") == 1
    status, out, err = cli(plug_ins, "--help")
    assert (status, err) == (0, "")
    assert f"cannot be loaded ({error})" in " ".join(out.replace("│", " ").split())
    for words in (["fit", "--help"], ["federated", "submit", "--help"]):
        status, out, err = cli(plug_ins, *words)
        assert (status, err) == (0, "")
        assert "Usage: nolook" in out


def test_a_plug_in_replaces_no_command(cli):
    status, out, _ = cli({"fit": "nolook.federated.commands:federated_app"}, "fit", "--help")
    assert status == 0
    assert "--target" in out


def test_plug_ins_are_not_looked_for_where_a_command_of_nolook_is_meant(cli, monkeypatch):
    looked = []
    monkeypatch.setattr(WithPlugIns, "_add_plug_ins", lambda _: looked.append(1))
    assert cli({}, "ledger")[0] == 0
    assert not looked
    cli({}, "federated")
    assert looked


@pytest.mark.parametrize("package", ["nolook", "other"])
@pytest.mark.usefixtures("cli")
def test_libraries_are_withheld_from_plug_ins_of_nolook_only(monkeypatch, package):
    withheld = {"pandas"}
    monkeypatch.setattr("nolook.cli._plug_ins.WITHHELD", withheld)
    found = EntryPoint("json", "json:dumps", "nolook.commands")
    found = found._for(type("Package", (), {"name": package}))
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [found])
    assert nolook.cli._run(["json"]) == 1
    assert withheld == ({"pandas"} if package == "nolook" else set())
