"""Every error is one plain line with its cause and its cure; nothing is spent or left behind."""

from __future__ import annotations

import datetime as dt
import os
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from tests.hostile.commands import COMMANDS
from tests.report.command import Result, columns, run, write_table
from tests.report.hand_made import fitted, unclipped

CELL = "Zq7"  # in every text of the tables, and in no name
LONG = "9" * 5000
#: What every command that makes a release refuses.
EVERYWHERE = [
    ("--epsilon 0", "--epsilon is 0"),
    ("--epsilon -1", "--epsilon is -1"),
    ("--epsilon nan", "--epsilon is nan"),
    ("--random-state -1", "--random-state is -1"),
    ("--missing guess", "--missing is 'guess'"),
    ("--output a.ledger", "--output is a.ledger"),
    ("--report none/r.html", "--report is none/r.html"),
]
GRIDS = [
    ("10:0:1", "low is 10.0 and high is 0.0", "low below high"),
    ("3:3:1", "expected low below high"),
    ("0:1:0", "step is 0"),
    ("0:1:-1", "step is -1"),
    ("0:1:1e-9", "more than 16777216 points"),
    ("0:inf:1", "high is inf"),
    ("0:nan:1", "high is nan"),
    ("0:1", "expected LOW:HIGH:STEP, three numbers"),
    ("0:1:2:3", "expected LOW:HIGH:STEP, three numbers"),
    ("a:b:c", "expected LOW:HIGH:STEP, three numbers"),
    ("", "expected LOW:HIGH:STEP, three numbers"),
    ("\x1b[31m{long}", "\\x1b", "..."),
]
# Words that a command needs, the rest of them, and what the line says, in this order.
# fmt: off
REFUSED = {
    "fit workers.parquet --target income --epsilon 1 --delta 1e-6 --exclude city": [
        ("--exclude age", "--exclude is given 2 times", "one list (--exclude A,B,C)"),
        ("--epsilon inf", "--epsilon is inf", "finite"),
        ("--epsilon many", "--epsilon", "number"),
        ("--delta 0", "--delta is 0", "between 0 and 1"),
        ("--delta 1", "--delta is 1", "between 0 and 1"),
        ("--delta 2", "--delta is 2", "between 0 and 1"),
        ("--delta nan", "--delta is nan", "between 0 and 1"),
        ("--delta small", "--delta", "number"),
        ("--random-state -1", "--random-state is -1", "at least 0"),
        ("--random-state x", "--random-state", "integer"),
        ("--method magic", "--method is 'magic'", "'auto', 'linear'"),
        ("--on-failure constant", "is 'constant'; expected --method tukey, not linear"),
        ("--on-failure constant --method auto", "--on-failure", "--method tukey"),
        ("--on-failure weep --method tukey", "--on-failure is 'weep'", "'raise', 'constant'"),
        ("--unknown 1", "--unknown"),
        ("--formula income~age", "--target is given next to --formula"),
    ],
    "fit workers.parquet --epsilon 1 --delta 1e-6": [
        ("--formula income~age^2", "--formula has the term 'age^2'", "I(age**2)"),
        ("--formula income~age --features age", "--features is given next to --formula"),
        ("--formula '~ age'", "--formula has no target"),
    ],
    "fit workers.parquet --target income --epsilon 1 --delta 1e-6": [
        ("--features ''", "--features", "at least one name"),
        ("--features age,,height", "--features", "non-empty"),
        ("--features age,age", "--features", "'age'", "once"),
        ("--categories city", "--categories is 'city'", "city=Bern"),
        ("--categories =A", "--categories is '=A'"),
        ("--categories city=", "--categories city"),
        ("--categories city=A,A", "--categories city", "'A'", "once"),
        ("--categories city=...,A,...", "--categories city", "'...'", "once"),
        ("--categories city=...", "categories of 'city'", "at least one name"),
        ("--target salary", "--target", "'salary'", "workers.parquet"),
        ("--target city", "--target", "'city'", "text", "--positive"),
        ("--target day", "--target", "'day'", "date", "--schema"),
        ("--features age,weight", "--features", "'weight'"),
        ("--features age,city", "--features", "'city'", "text", "--categories city=A,B"),
        ("--features age,day", "--features", "'day'", "date", "--schema"),
        ("--features age,income", "--features", "'income'"),
        ("--categories town=A,B", "--categories", "'town'"),
        ("--categories age=1,x", "levels of 'age' is x", "number"),
    ],
    "ledger": [
        ("create b.ledger", "--epsilon"),
        ("create b.ledger --epsilon 0 --delta 0", "--epsilon is 0"),
        ("create b.ledger --epsilon 1 --delta 1", "--delta is 1"),
        ("create b.ledger --epsilon 1 --delta 1e-6 --relation other", "--relation is 'other'"),
        ("create a.ledger --epsilon 1 --delta 1e-6", "a.ledger"),
        ("create none/b.ledger --epsilon 1 --delta 1e-6", "none/b.ledger"),
        ("show b.ledger", "b.ledger"),
        ("show workers.parquet", "workers.parquet"),
        ("history b.ledger", "b.ledger"),
        ("show", "FILE"),
        ("destroy a.ledger", "destroy"),
    ],
    "fit people.csv --epsilon 1": [
        ("-t cost", "a CSV file declares no types", "'nolook schema FILE' drafts"),
        ("-t cost", "a CSV file declares no types", "--features age,height"),
        ("-s draft.toml", "still a draft", "delete the line draft = true"),
        ("-s none.toml", "'none.toml'", "nolook schema"),
        ("-s people.csv", "is not TOML", "nolook schema"),
        ("-s misspelt.toml", "'thousand' is not a setting", "do you mean thousands?"),
        ("-s float.toml", "type is 'float'", "'number'"),
        ("-s column.toml", "names 'agee'", "do you mean 'age'?"),
        ("-s target.toml -t age", "the schema's is 'cost'", "leave this one out"),
        ("-s empty.toml", "--features is not given", "category 'smoker' has no levels"),
        ("-s empty.toml -f smoker", "levels of 'smoker' is empty", "never looked up"),
    ],
    "fit people.parquet --epsilon 1": [
        ("-t costs", "--target names 'costs'", "do you mean 'cost'?"),
        ("-t cost -f AGE", "--features names 'AGE'", "do you mean 'age'?"),
        ("-t cost -f age;height", "no such column", "--features age,height"),
        ("-t cost -f age, height", "unexpected extra argument", "without blanks"),
        ("", "--target is not given", "--target income"),
        ("-t died", "'died', which in 'people.parquet' has", "--positive yes"),
        ("-t cost -f city", "has type text", "--categories city=A,B"),
        ("-t cost -f born", "has type date", "--schema FILE.toml"),
        ("-t cost -f age,cost", "--features names 'cost'", "also the target (leave it out"),
        ("-t cost --categories born=1,2", "to be of type category", "declare another type"),
        ("-t cost --categories height=low,2", "levels of 'height' is low", "number"),
        ("-t cost --categories height=2,2.0", "levels of 'height'", "once"),
        ("-t cost --categories city:A", "--categories is", "city=Bern,Basel"),
        ("-t cost -x ages", "--exclude names 'ages'", "do you mean 'age'?"),
        ("-t cost -x cost", "--exclude names the target", "(leave it out there)"),
        ("-t cost -p yes", "--positive is 'yes', but 'cost' is of type number", "cells can have"),
        ("-t smoker -p yes", "'smoker' has the declared values true", "cells can have"),
        ("-t city -p A", "--negative is not given", "--negative no"),
        ("-t city -p A --negative ' a'", "are the same value of 'city'", "two different"),
        ("-t city --negative A", "--positive is not a string", "--positive yes"),
        ("-t cost -s other.toml", "has number there", "declare another type"),
        ("-t cost --missing mean", "--missing is 'mean'", "'drop-row'"),
        ("-t cost -x city,born,died --select 3", "--select is 3", "smaller k"),
    ],
    "select choices.parquet --target income --epsilon 20 --exclude city": [
        ("-k 5", "-k is 5", "features is 5"),
        ("-k 6", "-k is 6"),
        ("-k 999999999", "-k is 999999999"),
        ("-k 0", "-k is 0", "an integer from 1"),
        ("-k -3", "-k is '-3'", "an integer from 1"),
        ("-k 2.5", "-k is '2.5'", "'auto' or an integer from 1"),
        ("-k nan", "-k is 'nan'"),
        ("-k 'many\n\x1b[31m'", "-k is", "\\x1b"),
        ("-k {long}", "-k is '{nines}...'"),
        ("-k ''", "-k is ''"),
        ("", "-k"),
        ("-k 2 --selector magic", "--selector is 'magic'", "'kendall', 'lasso'"),
        ("-k 2 --epsilon 1e-300", "epsilon is 1e-300", "use a larger budget"),
        ("-k 2 --selector kendall --delta 1e-6", "--delta is 1e-06", "kendall needs none"),
        ("-k 2 --selector sis --delta 1e-6", "sis needs none"),
        ("-k 2 --selector moments --delta 0", "--delta is 0"),
        ("-k 2 --selector moments --delta much", "--delta"),
    ],
    "select choices.parquet --target income --epsilon 20": [
        ("-k 2 --features age,city,height",
         "--features", "'city'", "text", "--categories city=A,B"),
        ("-k 2 --features age,weight", "features", "'weight'"),
        ("-k 1 --features age", "-k is 1"),
        ("-k auto --features age", "-k is auto", "features is 1"),
    ],
    "fit choices.parquet --target income --epsilon 20 --delta 1e-6 --exclude city": [
        ("--selector kendall", "--selector is given without --select"),
        ("--split 0.5", "--split is given without --select"),
        ("--select 2 --split 0", "--split is 0", "between 0 and 1"),
        ("--select 2 --split 1", "--split is 1", "between 0 and 1"),
        ("--select 2 --split nan", "--split is nan"),
        ("--select 2 --split half", "--split"),
        ("--select 2 --selector magic", "--selector is 'magic'"),
        ("--select 0", "--select is 0", "an integer from 1"),
        ("--select few", "--select is 'few'", "auto"),
        ("--select 5", "--select is 5", "features is 5"),
    ],
    "fit choices.parquet --target income --epsilon 20 --delta 1e-6": [
        ("--select 2 --features age,city,height", "'city'", "text"),
    ],
    "ecdf scores.parquet --column age --epsilon 2": [
        ("--grid 0:10:10%", "--grid", "low is 0"),
        ("--grid 1:10:0%", "--grid", "step is 0"),
        ("--grid ten", "--grid is 'ten'"),
        ("--grid ''", "--grid is ''"),
        ("--grid 1:10:%", "--grid is '1:10:%'"),
        ("--relation other", "--relation is 'other'"),
        ("--column city", "'city'", "text"),
        ("--column weight", "'weight'", "no such column"),
        ("--column ''", "non-empty"),
    ],
    "tabulate scores.parquet --epsilon 2": [
        ("--mean AGE", "--mean, --median, --share or --all-pairs names 'AGE'", "mean 'age'?"),
    ],
    "compare-groups scores.parquet --epsilon 2": [
        ("--value age --by AGE", "--value or --by names 'AGE'", "do you mean 'age'?"),
        ("--value age --by age", "--by names 'age' again", "name another column"),
    ],
    "quantiles scores.parquet --columns age,height --epsilon 2": [
        ("--grid 0:1:1", "--grid is '0:1:1'", "expected a column"),
        ("--grid city=0:1:1", "'city'", "not a column"),
        ("--grid age=0:1:1 --grid age=0:2:1", "'age' twice"),
        ("--at 0.5,1.5", "--at is '0.5,1.5'", "from 0 to 1"),
        ("--at half", "--at is 'half'"),
        ("--at nan", "--at is 'nan'"),
        ("--at ''", "--at is ''"),
        ("--columns age,city", "'city'", "text"),
        ("--columns age,weight", "'weight'", "no such column"),
        ("--columns age,age", "--columns is 'age'", "each name once"),
        ("--columns ''", "--columns", "at least one name"),
    ],
    "roc scores.parquet --score score --target number --epsilon 2": [
        ("--threshold nan", "threshold is not a finite number"),
        ("--relation other", "--relation is 'other'"),
        ("--score city", "'city'", "text"),
        ("--score weight", "'weight'", "no such column"),
        ("--target weight", "'weight'", "no such column"),
        ("--target score", "each name once"),
        ("--positive yes", "'number'", "integer"),
        ("--target real --positive yes", "'real'", "of type number"),
        ("--target member --positive yes", "'member'", "true"),
        ("--positive ''", "--positive is not a string", "--positive yes"),
    ],
    "calibration scores.parquet --probability score --target number --epsilon 2": [
        ("--groups 0", "groups is 0"),
        ("--groups 1000", "groups is 1000"),
        ("--probability city", "'city'", "text"),
        ("--probability weight", "'weight'", "no such column"),
        ("--target weight", "'weight'", "no such column"),
    ],
    "evaluate scores.parquet --model m.json --epsilon 2": [
        ("--groups 0", "--groups is 0"),
        ("--threshold nan", "threshold is not a finite number"),
        ("--target nothing", "nothing"),
        ("--missing centre", "--missing is 'centre'"),
        ("--model people.parquet", "is not the file of a release"),
        ("--model nowhere.json", "nowhere.json"),
        ("--model ages.json", "is a distribution"),
    ],
    "": [
        ("fit workers.parquet --target income --delta 1e-6 --exclude city", "--epsilon"),
        ("fit workers.parquet --epsilon 1 --delta 1e-6", "--target"),
        ("fit none.parquet --target income --epsilon 1 --delta 1e-6 --exclude city",
         "none.parquet", "does not exist"),
        ("fit . --target income --epsilon 1 --delta 1e-6 --exclude city", "'.'"),
        ("fit a.ledger --target income --epsilon 1 --delta 1e-6 --exclude city", "a.ledger"),
        ("ecdf none.parquet --column age --epsilon 2", "none.parquet"),
        ("fir", "fir"),
        ("--versio", "--versio"),
        ("fit", "TABLE"),
        ("fit a b --epsilon 1 --delta 1e-6 --target y", "b"),
        ("fit workers.parquet --target", "--target"),
        ("fit 'workers\x1b[31m\n.parquet' --target y --epsilon 1 --delta 1e-6", "\\x1b"),
        ("fit '--\x1b[31m'", "\\x1b"),
        ("predict", "TABLE"),
        ("fit semicolon.csv -t cost -f age --epsilon 1",
         "one name with a ; in it", "--schema FILE.toml; 'nolook schema FILE' drafts one"),
        ("fit tab.csv -t cost --epsilon 1", "one name with a tab in it", "--schema FILE.toml"),
        ("fit latin.csv -t größe -f age --epsilon 1",
         "is not in the encoding utf-8", "'cp1252', in a schema (--schema FILE.toml)"),
        ("fit utf16.csv -t cost -f age --epsilon 1", "in the encoding utf-8", "--schema"),
        ("fit people.xlsx -t cost --epsilon 1", "people.xlsx", "not a readable Excel file"),
        ("fit people.pdf -t cost --epsilon 1", "no known extension", ".csv"),
        ("fit quote.csv -t cost -f age --epsilon 1", "a quote in its header", "multiline = true"),
        ("fit people.parquet -t cost -e 50%", "Invalid value for '--epsilon'", "nolook fit --help"),
        ("fit people.parquet -t cost", "--epsilon is missing: privacy loss", "nolook fit --help"),
        ("select people.parquet -t cost -e 1", "-k is missing: number of columns", "or auto"),
        ("select people.parquet -t cost -x city,born,died -k 3 -e 1", "-k is 3", "a smaller"),
        ("ecdf people.parquet -c city -e 1", "--column names 'city'", "--categories city=A,B"),
        ("quantiles people.parquet -c age,heigth -e 1", "--columns names 'heigth'", "'height'"),
        ("roc people.parquet --score age -t dies -e 1", "--target names 'dies'", "'died'"),
        ("quantiles people.csv -c month -s parts.toml -e 1", "'month', a category", "tabulate"),
        ("ecdf people.csv -c weight -s parts.toml -e 1", "has type identifier", "another column"),
        ("calibration people.parquet --probability age -e 1", "--target is not given", "use is"),
        ("roc people.parquet --score city -t died -p A -n B -e 1", "'city'", "another column"),
        ("quantiles people.parquet --column age -e 1", "No such option", "--columns"),
    ],
    "fit workers.parquet --target income --epsilon 1 --random-state 0": [
        ("--engine dask", "--engine is 'dask'; expected one of 'spark'"),
        ("--spark-master 'local[2]'", "--spark-master is given without an engine"),
    ],
    "fit scores.parquet --epsilon 1 --features score,age": [
        ("--target number --method logistic", "--positive 1"),
    ],
    "ledger charge a.ledger --what x": [
        ("--epsilon 0", "--epsilon"),
        ("--epsilon 0.1 --delta 1", "--delta"),
        ("--epsilon 0.1 --relation x", "--relation"),
        ("--epsilon 0.1 --what 'two\nlines'", "--what is"),
    ],
    "fit visits.parquet --target y --epsilon 1 --features a,b": [
        ("--rows-per-unit 5", "--rows-per-unit is 5, but no column names a unit ("),
        ("--rows-per-unit five", "--rows-per-unit is 'five'; expected 'weights' or an integer"),
        ("--unit who --rows-per-unit 0", "--rows-per-unit is 0; expected 'weights' or an integer"),
        ("--unit who --rows-per-unit 1025", "expected 'weights' or an integer from 1 to 1024"),
        ("--unit when", "--unit names 'when', but"),
        ("--unit a", "--unit names 'a', which is also a feature"),
        ("--unit y", "--unit names 'y', which is also the target"),
        ("--unit a -s visits.toml", "--unit is 'a', but the schema's is 'who'"),
        ("--unit who --exclude who", "--exclude names the unit 'who'"),
        ("-s visits.toml --exclude who", "--exclude names the unit 'who'"),
    ],
    "survival workers.parquet --time income --event": [
        ("city --epsilon 1", "--time, --event or --by names 'city', which in", "has type text"),
        ("income --epsilon 1", "--event names 'income' again", "name another column"),
    ],
    "fit workers.parquet --target income --epsilon 1 --exclude city -k": [
        ("30", "-k is 30", "number of features"),
        ("0", "-k is 0", "expected 'auto' or an integer"),
        ("{long}", "-k is '{nines}"),
        ("999999999", "-k is 999999999", "an integer from 1 to "),
        ("2 --select 2", "-k is 2 in a pipeline"),
        ("auto --select auto", "-k is 'auto' in a pipeline"),
        ("2 --method tukey", "-k is '2'; expected --method linear, not tukey"),
        ("1 --select 30", "-k is 1 in a pipeline"),
    ],
    "fit workers.parquet --target income --epsilon 1 --exclude city --missing": [
        ("indicator=agee", "--missing names 'agee'", "'age'"),
        ("indicator=income", "--missing indicator names 'income'", "leave it out"),
        ("indicator=", "--missing indicator"),
        ("center", "--missing is 'center'; expected one of 'drop-row', 'zero', 'centre'"),
        ("centre --missing zero", "--missing is 'centre' and 'zero' (keep one of them"),
    ],
    "plan people.parquet --features age,height --ledger a.ledger": [
        ("", "--rows"),
        ("--rows 100 --count-epsilon 1", "--rows"),
        ("--rows 0", "--rows"),
        ("--rows 100 --method kendall", "--method"),
        ("--rows 100 --want interval", "--want is 'interval'"),
        ("--count-epsilon 1 --want 'width 3'", "--want is 'width 3'"),
        ("--count-epsilon -1", "--count-epsilon"),
        ("--rows 100 --report people.parquet", "--report"),
    ],
    "plan": [
        ("--rows 1000", "--columns"),
        ("--columns 3 --count-epsilon 1", "there is no table; give one, or --rows and --columns"),
    ],
    "compare": [
        ("m.json other.json", "different targets"),
        ("ages.json m.json", "is a distribution", "expected a model"),
    ],
    "predict": [
        ("workers.parquet -m ages.json -o p.csv", "is a distribution", "expected a model"),
    ],
    "audit": [
        ("peelings", "NAME is 'peelings'; expected a release from the list"),
        ("peeling --runs 5", "--runs is 5; expected at least 100"),
        ("peeling --epsilon 0", "--epsilon is 0"),
        ("peeling --output missing/page.md", "missing"),
    ],
    "schema": [
        ("none.csv", "none.csv"),
        ("people.csv --output people.csv", "people.csv"),
        (".", "'.'"),
    ],
}
# fmt: on
FIT = "fit workers.parquet --target income --epsilon 1 --delta 1e-6 --exclude city"
SELECT = "select choices.parquet --target income --epsilon 20 --exclude city -k 2"
ECDF = "ecdf scores.parquet --column age --epsilon 2"
QUANTILES = "quantiles scores.parquet --columns age,height --epsilon 2"
ROC = "roc scores.parquet --score score --target number --epsilon 2"
CALIBRATION = "calibration scores.parquet --probability score --target number --epsilon 2"
EVALUATE = "evaluate scores.parquet --model m.json --epsilon 2"
RELEASES = (FIT, SELECT, ECDF, QUANTILES, ROC, CALIBRATION, EVALUATE)
CASES = [
    *((base, *case) for base, cases in REFUSED.items() for case in cases),
    *((base, *case) for base in RELEASES for case in EVERYWHERE),
    *((base, "--epsilon 1e-300", "epsilon is 1e-300") for base in RELEASES if base != FIT),
    *((base, f"--delta {delta}", f"--delta is {delta}")
      for base in (ECDF, QUANTILES) for delta in (1, -1)),
    *((base, shlex.join(["--grid", column + text]), "--grid", *said)
      for base, column in ((ECDF, ""), (QUANTILES, "age="), (ROC, "")) for text, *said in GRIDS),
]  # fmt: skip

TARGET = 'cost = {type = "number", thousands = ",", use = "target"}'
SCHEMAS = {
    "draft": 'draft = true\n[columns]\nage = "number"',
    "misspelt": '[columns]\nage = "number"\ncost = {type = "number", thousand = ","}',
    "float": '[columns]\nage = "float"',
    "column": f'[columns]\nagee = "number"\n{TARGET}',
    "target": f'[columns]\nage = "number"\n{TARGET}',
    "parts": ('[columns]\nborn = "date"\nmonth = {month_of = "born"}\nweight = "identifier"\n'),
    "other": '[columns]\nheight = "date"',
    "empty": f'[columns]\nsmoker = {{type = "category", levels = []}}\n{TARGET}',
    "visits": '[columns]\nwho = {type = "identifier", use = "unit"}',
    "words": f'[columns]\nweight = "number"\n{TARGET}',
}
ROWS = 60
TABLES = ("workers.parquet", "a.ledger")


def write_tables(folder: Path) -> None:
    """Write tables whose cells are written in all the ways that are not a plain number."""
    place = np.arange(ROWS)
    days = [dt.date(1980, 1, 1) + dt.timedelta(i) for i in range(ROWS)]
    words = [f"{CELL}{i % 3}" for i in place]
    answers = [f"{CELL}yes" if i % 4 else f"{CELL}no" for i in place]
    age, height = 20 + place, np.linspace(150.0, 190.0, ROWS)
    people = {"age": age, "height": height, "smoker": place % 2 == 0, "city": words, "born": days,
              "died": answers, "cost": np.linspace(4812.5, 9812.5, ROWS)}  # fmt: skip
    write_table(folder / "people.parquet", people)
    write_table(folder / "workers.parquet", {**columns(ROWS), "city": words, "day": days})
    choices = dict.fromkeys(("noise", "age", "luck", "height", "chance"), height + place)
    write_table(folder / "choices.parquet", {**choices, "city": words, "income": height})
    score = place / ROWS
    classes = {"member": score > 0.5, "number": place % 2, "real": place % 2 / 1.0}
    scores = {"age": age, "height": height, "city": words, "score": score, **classes}
    write_table(folder / "scores.parquet", {**scores, "text": answers})
    header = "age,smoker,born,weight,cost\n"
    line = '{0},TRUE,03.02.19{0},{1},"4,8{0}"\n'
    rows = "".join(line.format(i, CELL if i % 9 == 0 else 70) for i in age)
    (folder / "people.csv").write_text(header + rows)
    visits = {"who": words, "a": age, "b": height, "y": place % 2}
    write_table(folder / "visits.parquet", visits)
    (folder / "utf16.csv").write_text(header + rows, encoding="utf-16")
    (folder / "latin.csv").write_text("age,größe\n1,2\n", encoding="latin-1")
    (folder / "semicolon.csv").write_text("age;cost\n" + "".join(f"{i},5;1\n" for i in place))
    (folder / "tab.csv").write_text("age\tcost\n1\t2\n")
    (folder / "quote.csv").write_text('age,"cost\n1,2\n')
    (folder / "people.xlsx").write_bytes(b"PK\x03\x04")
    (folder / "people.pdf").write_bytes(b"%PDF-1.7")
    for name, text in SCHEMAS.items():
        (folder / f"{name}.toml").write_text(text)
    read_options = {"features": ["score", "age"], "categories": {}, "missing": "drop-row"}
    of_classes = unclipped(fitted(("score", "age", "number"), read_options=read_options))
    nolook.save(of_classes, folder / "m.json")
    nolook.save(fitted(("score", "age", "real"), read_options=read_options), folder / "other.json")
    nolook.save(nolook.ECDF(1.0).fit(np.arange(100.0)), folder / "ages.json")
    nolook.Ledger.create(folder / "a.ledger", nolook.Budget(200, 1e-3), name="a").close()


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> Path:
    """A folder that no test may change."""
    folder = tmp_path_factory.mktemp("tables")
    write_tables(folder)
    return folder


def in_the_folder(folder: Path) -> dict:
    return {p.name: p.read_bytes() for p in folder.iterdir() if not p.name.startswith("a.ledger-")}


def history(folder: Path) -> tuple:
    with nolook.Ledger(folder / "a.ledger") as ledger:
        return ledger.history()


def refused(done: Result, *expected: str, status: int = 2) -> None:
    assert done.status == status, done
    assert done.out == "" or done.out.startswith(("Not used: ", "Used as numbers: "))
    assert done.err.startswith("nolook: error: ")
    assert done.err.endswith("\n")
    assert done.err.count("\n") == 1
    place = 0
    for text in expected:
        assert text in done.err[place:], done.err
        place = done.err.index(text, place)
    assert done.err.isascii() or done.err.strip().isprintable()
    # In the words of the command line, about what is public.
    for python in ("features=", "categories=", "missing=", "nolook.", "dictionary", "None"):
        assert python not in done.err.replace("nolook: error", ""), done.err
    assert "Traceback" not in done.err
    assert CELL not in done.out + done.err


@pytest.mark.parametrize("base", RELEASES)
def test_the_commands_that_errors_are_made_from_work(base, tables, cli, tmp_path):
    for path in tables.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert cli(*base.split(), "--ledger", "a.ledger").status in {0, 5}
    assert len(history(tmp_path)) == 1


@pytest.mark.parametrize(("base", "more", "expected"), [(b, m, e) for b, m, *e in CASES])
def test_one_line_names_the_cause_and_the_cure_and_nothing_is_spent(
    base, more, expected, tables, cli, monkeypatch
):
    monkeypatch.chdir(tables)
    before = in_the_folder(tables)
    words = shlex.split(f"{base} {more}".format(long=LONG))
    if words.count("--columns") == 2:  # a list is refused a second time
        first = words.index("--columns")
        del words[first : first + 2]
    if words[0] in COMMANDS:
        words[1:1] = ["--ledger", "a.ledger"]
    refused(cli(*words), *(text.format(nines="9" * 55) for text in expected))
    assert in_the_folder(tables) == before
    assert history(tables) == ()


def test_rows_that_cannot_be_used_are_told_from_rows_that_are_too_few(tables, cli):
    done = cli(
        "fit",
        tables / "people.csv",
        *["-t", "age", "-f", "born", "--missing", "drop-row", "-q", "-e", "1"],
    )
    assert done.status == 5
    assert done.err.count("\n") == 1
    for cause in ("thousands separators", "decimal commas", "TRUE and FALSE", "dates", "delimiter"):
        assert cause in done.err
    assert "a schema declares" in done.err


@pytest.fixture
def here(tables, cli, tmp_path) -> Path:
    """A folder with a table and a ledger, where a test may add files."""
    for name in TABLES:
        (tmp_path / name).write_bytes((tables / name).read_bytes())
    return tmp_path


def fit(*more, table="workers.parquet", drop=("--exclude", "city")) -> list:
    words = [word for word in FIT.split() if word not in drop]
    words[1] = table
    return [*words, "--ledger", "a.ledger", *more]


def untouched(folder: Path, *others: str) -> None:
    assert set(in_the_folder(folder)) == {*TABLES, *others}
    assert history(folder) == ()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"\x00" * 1000, b"Zq7,1\n\xff\xfe2"])
def test_a_damaged_file_is_named_and_never_quoted(here, cli, suffix, content):
    (here / f"bad{suffix}").write_bytes(content)
    refused(cli(*fit("--features", "age", table=f"bad{suffix}")), f"bad{suffix}")
    untouched(here, f"bad{suffix}")


def test_a_file_cut_short_is_refused(here, cli):
    content = (here / "workers.parquet").read_bytes()
    for length in (1, len(content) // 2, len(content) - 1):
        (here / "bad.parquet").write_bytes(content[:length])
        refused(cli(*fit(table="bad.parquet")), "bad.parquet")
    untouched(here, "bad.parquet")


def test_a_table_without_a_feature_is_refused(here, cli):
    data = columns(ROWS)
    write_table(here / "bad.parquet", {"city": data["city"], "income": data["income"]})
    refused(cli(*fit(table="bad.parquet")), "no numeric or boolean column")
    untouched(here, "bad.parquet")


@pytest.mark.parametrize(
    ("base", "value"),
    [*((base, np.nan) for base in (*RELEASES, f"{FIT} --select 2")), (FIT, np.inf)],
)
def test_a_missing_value_is_never_an_error(base, value, tables, here, cli):
    words = base.split()
    table = pq.read_table(tables / words[1])
    for name in {"age", "score"} & set(table.column_names):
        cells = table[name].to_numpy().astype(float)
        cells[7] = value
        table = table.set_column(table.column_names.index(name), name, pa.array(cells))
    pq.write_table(table, here / "bad.parquet")
    (here / "m.json").write_bytes((tables / "m.json").read_bytes())
    words = [words[0], "bad.parquet", *words[2:], "--ledger", "a.ledger"]
    assert cli(*words).status in {0, 5}
    assert cli(*words, "--missing", "zero", "--force").status in {0, 5}


@pytest.mark.parametrize("option", ["output", "report"])
@pytest.mark.parametrize(
    "place", ["none/file", ".", "workers.parquet", "a.ledger", "a.ledger-journal", "x" * 300]
)
def test_an_output_that_cannot_be_written_is_found_before_anything_is_spent(
    here, cli, option, place
):
    before = (here / "workers.parquet").read_bytes()
    refused(cli(*fit(f"--{option}", place)), f"--{option} is {place}"[:60])
    assert (here / "workers.parquet").read_bytes() == before
    untouched(here)


def test_the_model_and_the_report_need_two_names(here, cli):
    refused(cli(*fit("--output", "same", "--report", "same")), "--report is same")
    untouched(here)


def test_devices_are_no_outputs(here, cli):
    os.mkfifo(here / "pipe")
    for place in ("pipe", "/dev/null"):
        refused(cli(*fit("--output", place)), f"--output is {place}", "not an ordinary file")
    (here / "pipe").unlink()
    untouched(here)


@pytest.mark.parametrize("ledger", ["none.ledger", ".", "workers.parquet"])
def test_a_ledger_that_is_none_is_refused(here, cli, ledger):
    refused(cli(*fit("--ledger", ledger)), ledger)
    untouched(here)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "not JSON"),
        ("{}", '"format": "nolook"'),
        ('{"format": "nolook", "version": 2, "nolook_version": "9"}', "version 1"),
        ('{"format": "nolook", "version": 1, "nolook_version": "9"}', "expected a kind"),
        (b"\xff", ""),
        (None, ""),
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        "predict --model bad.json workers.parquet -o p.parquet",
        "show bad.json",
        "report bad.json -o b.html",
        "compare bad.json m.json",
    ],
)
def test_a_bad_model_file_is_refused(tables, here, cli, words, content, expected):
    (here / "m.json").write_bytes((tables / "m.json").read_bytes())
    if content is not None:
        (here / "bad.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(cli(*words.split()), "bad.json", expected)
    untouched(here, "m.json", *(["bad.json"] if content is not None else []))


def test_predict_refuses_what_does_not_fit(here, cli):
    nolook.save(fitted(("age", "height", "member", "income")), here / "m.json")
    write_table(here / "new.parquet", {"age": [1.0], "height": [2.0]})
    words = ("predict", "--model", "m.json")
    refused(cli(*words, "new.parquet", "--output", "p.parquet"), "'member'", "new.parquet")
    refused(cli(*words, "none.parquet", "--output", "p.parquet"), "none.parquet")
    refused(
        cli("predict", "--model", "none.json", "new.parquet", "--output", "p.parquet"), "none.json"
    )
    refused(cli(*words, "workers.parquet", "--output", "workers.parquet"), "--output is workers")
    refused(cli(*words, "workers.parquet", "--output", "m.json"), "--output is m.json")
    refused(cli(*words, "workers.parquet"), "--output")
    untouched(here, "m.json", "new.parquet")


def test_predictions_of_a_damaged_table_leave_no_file(here, cli):
    nolook.save(fitted(("age", "height", "member", "income")), here / "m.json")
    table = write_table(here / "new.parquet", columns(rows=100_000))
    content = bytearray(table.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 100_000] = bytes(100_000)
    table.write_bytes(content)
    refused(
        cli("predict", "--model", "m.json", "new.parquet", "--output", "p.parquet"), "new.parquet"
    )
    untouched(here, "m.json", "new.parquet")


@pytest.mark.slow
def test_errors_are_the_same_in_a_process_of_its_own(here):
    (here / "bad.json").write_text('{"format": "nolook"}')
    for words in (
        fit("--epsilon", "0"),
        fit(table="none.parquet"),
        fit("--unknown", "1"),
        ["fir"],
        [*QUANTILES.split(), "--at", "2"],
        [*FIT.split(), "--selector", "sis"],
        ["predict", "--model", "bad.json", "workers.parquet", "--output", "p.parquet"],
    ):
        refused(run(*words, cwd=here))
    untouched(here, "bad.json")
