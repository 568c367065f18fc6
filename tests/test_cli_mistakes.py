"""Natural mistakes: each is answered by one line with its cause and its cure, and costs nothing."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
import nolook.cli
from tests.report.command import Result

CELL = "Zq7"  # in every text of the tables, and in no name


class Mistake(NamedTuple):
    """What was typed, and words of the answer: of the cause, of the cure."""

    words: str
    cause: str
    cure: str


def fit(words: str) -> str:
    return f"fit {words} --epsilon 1"


MISTAKES = {
    "semicolons": Mistake(
        fit("semicolon.csv -t cost -f age"), "one name with a ; in it", "--delimiter ';'"
    ),
    "nothing declared": Mistake(
        fit("people.csv -t cost"), "a CSV file declares no types", "'nolook schema FILE' drafts"
    ),
    "a cell that the schema does not allow": Mistake(
        fit("people.csv -s words.toml"), "a cell not written as declared", "choose another policy"
    ),
    "tabs, no features": Mistake(
        fit("tab.csv -t cost"), "one name with a tab in it", "--delimiter tab"
    ),
    "decimal commas": Mistake(
        fit("semicolon.csv -t cost -f age --delimiter ;"), "not written as declared", "--schema"
    ),
    "thousands signs": Mistake(
        fit("people.csv -t cost -f age"), "a cell not written as declared", "--schema FILE.toml"
    ),
    "truth in words": Mistake(
        fit("people.csv -t age -f smoker"), "not written as declared", "--missing drop-row"
    ),
    "dates": Mistake(fit("people.csv -t age -f born"), "not written as declared", "--schema"),
    "a word for nothing": Mistake(
        fit("people.csv -t age -f weight"), "missing or infinite value", "--schema FILE.toml"
    ),
    "latin-1": Mistake(
        fit("latin.csv -t größe -f age"), "is no text in the encoding utf-8", "--encoding latin-1"
    ),
    "utf-16": Mistake(fit("utf16.csv -t cost -f age"), "in the encoding utf-8", "--encoding"),
    "a spreadsheet": Mistake(fit("people.xlsx -t cost"), "no known extension", ".csv"),
    "tab-separated by name": Mistake(
        fit("people.tsv -t cost"), "no known extension", "a text file is .csv"
    ),
    "a quote not closed": Mistake(
        fit("quote.csv -t cost -f age"), "a quote in its header", "--multiline"
    ),
    "no features of a CSV file": Mistake(
        fit("people.csv -t cost"), "a CSV file declares no types", "--features age,height"
    ),
    "a name misspelt": Mistake(
        fit("people.parquet -t costs"), "--target names 'costs'", "do you mean 'cost'?"
    ),
    "capital letters": Mistake(
        fit("people.parquet -t cost -f AGE"), "--features names 'AGE'", "do you mean 'age'?"
    ),
    "names separated by semicolons": Mistake(
        fit("people.parquet -t cost -f age;height"), "no such column", "--features age,height"
    ),
    "blanks in a list": Mistake(
        fit("people.parquet -t cost -f age, height"), "unexpected extra argument", "without blanks"
    ),
    "no target": Mistake(fit("people.parquet"), "--target is not given", "--target income"),
    "a target of words": Mistake(
        fit("people.parquet -t died"), "'died', which in 'people.parquet' has", "--positive yes"
    ),
    "a feature of words": Mistake(
        fit("people.parquet -t cost -f city"), "has type text", "--categories city=A,B"
    ),
    "a date as feature": Mistake(
        fit("people.parquet -t cost -f born"), "has type date", "--schema FILE.toml"
    ),
    "the target among the features": Mistake(
        fit("people.parquet -t cost -f age,cost"), "--features names the target", "leave it out"
    ),
    "categories of numbers": Mistake(
        fit("people.parquet -t cost --categories height=1,2"), "has type number", "another column"
    ),
    "categories with a colon": Mistake(
        fit("people.parquet -t cost --categories city:A"), "--categories is", "city=Bern,Basel"
    ),
    "left out, misspelt": Mistake(
        fit("people.parquet -t cost -x ages"), "--exclude names 'ages'", "do you mean 'age'?"
    ),
    "the target left out": Mistake(
        fit("people.parquet -t cost -x cost"), "--exclude names the target", "expected others"
    ),
    "a value of a number": Mistake(
        fit("people.parquet -t cost -p 1"), "--positive is given, but 'cost'", "leave it out"
    ),
    "a value of a boolean": Mistake(
        fit("people.parquet -t smoker -p yes"), "is a boolean already", "leave it out"
    ),
    "a draft": Mistake(
        fit("people.csv -s draft.toml"), "still a draft", "delete the line draft = true"
    ),
    "no schema there": Mistake(fit("people.csv -s none.toml"), "'none.toml'", "nolook schema"),
    "a schema that is no TOML": Mistake(
        fit("people.csv -s people.csv"), "is not TOML", "nolook schema"
    ),
    "a setting misspelt": Mistake(
        fit("people.csv -s misspelt.toml"), "'thousand' is no setting", "do you mean thousands?"
    ),
    "a type of another language": Mistake(
        fit("people.csv -s float.toml"), "type is 'float'", "'number'"
    ),
    "a column of the schema misspelt": Mistake(
        fit("people.csv -s column.toml"), "names 'agee'", "do you mean 'age'?"
    ),
    "a schema of another target": Mistake(
        fit("people.csv -s target.toml -t age"), "the schema's is 'cost'", "leave this one out"
    ),
    "a schema of other types": Mistake(
        fit("people.parquet -t cost -s other.toml"), "has number there", "another type in"
    ),
    "one sign twice": Mistake(
        fit("people.csv -t cost -f age --decimal , --thousands ,"), "are both ','", "different"
    ),
    "thousands without decimals": Mistake(
        fit("people.csv -t cost -f age --thousands ."), "--thousands are both '.'", "give both"
    ),
    "two delimiters": Mistake(
        fit("people.csv -t cost -f age --delimiter ::"), "--delimiter is '::'", "one of ',', ';'"
    ),
    "an encoding unknown": Mistake(
        fit("people.csv -t cost -f age --encoding ansi"), "--encoding is 'ansi'", "'cp1252'"
    ),
    "no word": Mistake(fit("people.csv -t cost -f age --na ,"), "--na is ','", "--na NA"),
    "a policy there is not": Mistake(
        fit("people.parquet -t cost --missing mean"), "--missing is 'mean'", "'drop-row'"
    ),
    "epsilon in percent": Mistake(
        "fit people.parquet -t cost -e 50%", "Invalid value for '--epsilon'", "nolook fit --help"
    ),
    "no budget": Mistake("fit people.parquet -t cost", "Missing option", "'--epsilon'"),
    "all columns chosen": Mistake(
        "select people.parquet -t cost -x city,born,died -k 3 -e 1", "-k is 3", "a smaller"
    ),
    "all columns chosen before a fit": Mistake(
        fit("people.parquet -t cost -x city,born,died --select 3"), "--select is 3", "fewer than"
    ),
    "a column of words": Mistake(
        "ecdf people.parquet -c city -e 1", "--column names 'city'", "use another column"
    ),
    "columns misspelt": Mistake(
        "quantiles people.parquet -c age,heigth -e 1", "--columns names 'heigth'", "'height'"
    ),
    "classes misspelt": Mistake(
        "roc people.parquet --score age -t dies -e 1", "--target names 'dies'", "'died'"
    ),
    "a date taken apart": Mistake(
        "ecdf people.csv -c born -s parts.toml -e 1", "makes categories of", "another type"
    ),
    "an identifier": Mistake(
        "ecdf people.csv -c weight -s parts.toml -e 1", "has type identifier", "another column"
    ),
    "no class": Mistake(
        "calibration people.parquet --probability age -e 1", "--target is not given", "use is"
    ),
    "a score of words": Mistake(
        "roc people.parquet --score city -t died -e 1", "--score names 'city'", "another column"
    ),
    "an option of another command": Mistake(
        "quantiles people.parquet --column age -e 1", "No such option", "--columns"
    ),
}  # fmt: skip

TARGET = 'cost = {type = "number", thousands = ",", use = "target"}'
SCHEMAS = {
    "draft": 'draft = true\n[columns]\nage = "number"',
    "misspelt": '[columns]\nage = "number"\ncost = {type = "number", thousand = ","}',
    "float": '[columns]\nage = "float"',
    "column": f'[columns]\nagee = "number"\n{TARGET}',
    "target": f'[columns]\nage = "number"\n{TARGET}',
    "parts": ('[columns]\nborn = {type = "date", parts = ["month"]}\nweight = "identifier"\n'),
    "other": '[columns]\nheight = "date"',
    "words": f'[columns]\nweight = "number"\n{TARGET}',
}


def write_tables(folder: Path) -> None:
    """Write tables whose cells are written in all the ways that are not a plain number."""
    n = 60
    data = {
        "age": np.arange(20, 20 + n),
        "height": np.linspace(150.0, 190.0, n),
        "smoker": np.arange(n) % 2 == 0,
        "city": [f"{CELL}{i % 3}" for i in range(n)],
        "born": [dt.date(1980, 1, 1) + dt.timedelta(i) for i in range(n)],
        "died": [f"{CELL}yes" if i % 4 else f"{CELL}no" for i in range(n)],
        "cost": np.linspace(4812.5, 9812.5, n),
    }
    pq.write_table(pa.table(data), folder / "people.parquet")
    header = "age,smoker,born,weight,cost\n"
    line = '{0},TRUE,03.02.19{0},{1},"4,8{0}"\n'
    rows = [line.format(i, CELL if i % 9 == 0 else 70) for i in range(20, 20 + n)]
    (folder / "people.csv").write_text(header + "".join(rows))
    (folder / "utf16.csv").write_text(header + "".join(rows), encoding="utf-16")
    (folder / "latin.csv").write_text("age,größe\n1,2\n", encoding="latin-1")
    (folder / "semicolon.csv").write_text("age;cost\n" + "".join(f"{i},5;1\n" for i in range(n)))
    (folder / "tab.csv").write_text("age\tcost\n1\t2\n")
    (folder / "quote.csv").write_text('age,"cost\n1,2\n')
    (folder / "people.xlsx").write_bytes(b"PK\x03\x04")
    (folder / "people.tsv").write_text("age\tcost\n1\t2\n")
    for name, text in SCHEMAS.items():
        (folder / f"{name}.toml").write_text(text)
    nolook.Ledger.create(folder / "a.ledger", nolook.Budget(50, 1e-3), name="a").close()


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    return tmp_path


@pytest.fixture
def cli(here, monkeypatch, capsys):
    monkeypatch.setattr(nolook.cli, "_silence_libraries", lambda: None)

    def call(*words: str) -> Result:
        status = nolook.cli._run(list(words))
        return Result(status, *capsys.readouterr())

    return call


def test_there_are_thirty_mistakes_and_more():
    assert len(MISTAKES) >= 30


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_answered_by_its_cause_and_cure(here, cli, mistake):
    before = {path: path.read_bytes() for path in here.iterdir() if "ledger" not in path.name}
    done = cli(*mistake.words.split(), "--ledger", "a.ledger")
    assert done.status == 2, done
    assert done.err.startswith("nolook: error: ")
    assert done.err.count("\n") == 1
    assert done.err.endswith("\n")
    assert mistake.cause in done.err
    assert mistake.cure in done.err
    assert done.err.index(mistake.cause) <= done.err.index(mistake.cure)
    # In the words of the command line, about what is public.
    for python in ("features=", "categories=", "missing=", "nolook.", "dictionary", "None"):
        assert python not in done.err.replace("nolook: error", "")
    assert CELL not in done.out + done.err
    assert done.out == "" or done.out.startswith(("Not used: ", "Used as numbers: "))
    with nolook.Ledger(here / "a.ledger") as ledger:
        assert ledger.history() == ()
    after = {path: path.read_bytes() for path in here.iterdir() if "ledger" not in path.name}
    assert after == before


def test_rows_that_cannot_be_used_are_told_from_rows_that_are_too_few(here, cli):
    done = cli(*fit("people.csv -t age -f born --missing drop-row -q").split())
    assert done.status == 5
    assert done.err.count("\n") == 1
    for cause in ("thousands signs", "decimal commas", "TRUE and FALSE", "dates", "delimiter"):
        assert cause in done.err
    assert "a schema declares" in done.err
