"""How each table of ../shared/data is made of the files of its public source.

A recipe takes paths and returns a frame whose column `target` is the target; microarrays have the
columns that ../shared/data/README.md describes.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from scripts.table_formats import read_all, read_arff, read_rdata

__all__ = [
    "COMMITS", "bank", "bikes", "black_friday", "brazil", "california", "census",
    "complete_california", "diabetes", "diamonds_levels", "diamonds_ranks", "garbage", "heart",
    "houses", "isolet", "leukaemia", "miami", "microarray", "mlb", "nba", "plain_arff", "sgemm",
    "soil", "sulfur", "supreme", "varying_arff", "wine",
]  # fmt: skip


def _last_is_target(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns={frame.columns[-1]: "target"})


def _levels(column: pd.Series, name: str | None = None) -> pd.DataFrame:
    """Return a column for each level, in the order of their names."""
    return pd.get_dummies(column, prefix=name or column.name).astype(np.int8)


def _with_levels(
    frame: pd.DataFrame, numbers: Sequence[str], levels: Sequence[str]
) -> pd.DataFrame:
    """Return columns of numbers, then one for each level of others."""
    return pd.concat([frame[list(numbers)], *(_levels(frame[name]) for name in levels)], axis=1)


def plain_arff(path: Path) -> pd.DataFrame:
    """Take all columns; the last one is the target."""
    return _last_is_target(read_arff(path))


def varying_arff(path: Path, least: int) -> pd.DataFrame:
    """Leave out features with fewer distinct values."""
    frame = plain_arff(path)
    kept = [name for name in frame if name == "target" or frame[name].nunique() >= least]
    return frame[kept]


def houses(path: Path) -> pd.DataFrame:
    """Take the logarithm of the target."""
    frame = plain_arff(path)
    return frame.assign(target=np.log(frame["target"]))


def california(path: Path) -> pd.DataFrame:
    """Make scikit-learn's features of the totals of a block."""
    frame = plain_arff(path)
    homes = frame["households"]
    return pd.DataFrame(
        {
            "MedInc": frame["medianIncome"],
            "HouseAge": frame["housingMedianAge"],
            "AveRooms": frame["totalRooms"] / homes,
            "AveBedrms": frame["totalBedrooms"] / homes,
            "Population": frame["population"],
            "AveOccup": frame["population"] / homes,
            "Latitude": frame["latitude"],
            "Longitude": frame["longitude"],
            "target": np.log(frame["target"] / 1e5),
        }
    )


def soil(path: Path) -> pd.DataFrame:
    """Make levels of `isns`."""
    frame = read_arff(path)
    frame["isns"] = frame["isns"].astype(int)
    numbers = ["northing", "easting", "resistivity"]
    return _with_levels(frame, numbers, ["isns"]).assign(target=frame["track"])


def supreme(path: Path) -> pd.DataFrame:
    """Make levels of the five features that are 0 or 1."""
    frame = read_arff(path).astype(float)
    levels = [
        "Liberal", "Unconstitutional", "Precedent_alteration", "Unanimous",
        "Lower_court_disagreement",
    ]  # fmt: skip
    numbers = ["Actions_taken", "Year_of_decision"]
    return _with_levels(frame, numbers, levels).assign(target=frame["Log_exposure"])


def sulfur(path: Path) -> pd.DataFrame:
    """Predict y1 from the rest; whatever stands above the numbers is left out."""
    rows = [line.split() for line in path.read_text(encoding="latin-1").splitlines()]
    numbers = [row for row in rows if len(row) == 7 and row[0][0] in "-.0123456789"]
    names = ["u1", "u2", "u3", "u4", "u5", "target", "y2"]
    frame = pd.DataFrame(np.array(numbers, dtype=float), columns=names)
    return frame[["u1", "u2", "u3", "u4", "u5", "y2", "target"]]


def wine(red: Path, white: Path) -> pd.DataFrame:
    """Put red and white wines into one table."""
    frame = pd.concat([pd.read_csv(path, sep=";") for path in (red, white)])
    return _last_is_target(frame.rename(columns=lambda name: name.replace(" ", "_")))


def miami(path: Path) -> pd.DataFrame:
    """Leave out three columns, and take the logarithm of the price."""
    frame = pd.read_csv(path)
    names = [
        "LATITUDE", "LONGITUDE", "LND_SQFOOT", "TOT_LVG_AREA", "SPEC_FEAT_VAL", "RAIL_DIST",
        "OCEAN_DIST", "WATER_DIST", "CNTR_DIST", "SUBCNTR_DI", "HWY_DIST", "age", "month_sold",
    ]  # fmt: skip
    return frame[names].assign(target=np.log(frame["SALE_PRC"]))


def bikes(path: Path) -> pd.DataFrame:
    """Make levels of the season and the like; leave out the weekday."""
    frame = pd.read_csv(path)
    numbers = ["mnth", "hr", "temp", "atemp", "hum", "windspeed"]
    levels = ["season", "yr", "holiday", "workingday", "weathersit"]
    return _with_levels(frame, numbers, levels).assign(target=frame["cnt"])


def sgemm(path: Path) -> pd.DataFrame:
    """Predict the logarithm of the first run from the other runs and the two-valued parameters."""
    with zipfile.ZipFile(path) as archive:
        name = next(one for one in archive.namelist() if one.endswith("sgemm_product.csv"))
        frame = pd.read_csv(archive.open(name))
    frame = frame.rename(columns=lambda name: name.replace(" (ms)", ""))
    levels = ["KWG", "KWI", "STRM", "STRN", "SA", "SB"]
    made = _with_levels(frame, ["Run2", "Run3", "Run4"], levels)
    return made.assign(target=np.log(frame["Run1"]))


def _diamonds(wheel: Path) -> pd.DataFrame:
    with zipfile.ZipFile(wheel) as archive:
        return pd.read_csv(archive.open("plotnine/data/diamonds.csv"))


def diamonds_levels(wheel: Path) -> pd.DataFrame:
    """Make levels of cut, colour and clarity; take the logarithm of the price."""
    frame = _diamonds(wheel)
    numbers = ["carat", "depth", "table", "x", "y", "z"]
    made = _with_levels(frame, numbers, ["cut", "color", "clarity"])
    return made.assign(target=np.log(frame["price"]))


def diamonds_ranks(wheel: Path) -> pd.DataFrame:
    """Count the grades of cut, colour and clarity from 1."""
    frame = _diamonds(wheel)
    for name, grades in {
        "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
        "color": list("DEFGHIJ"),
        "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
    }.items():
        frame[name] = frame[name].map({grade: i for i, grade in enumerate(grades, 1)})
    names = ["carat", "cut", "color", "clarity", "depth", "table", "x", "y", "z"]
    return frame[names].assign(target=frame["price"])


def brazil(path: Path) -> pd.DataFrame:
    """Leave out the floor; take the logarithm of the total."""
    frame = pd.read_csv(path)
    frame.columns = [name.replace(" (R$)", "").replace(" ", "_") for name in frame]
    numbers = [
        "area", "rooms", "bathroom", "parking_spaces", "hoa", "rent_amount", "property_tax",
        "fire_insurance",
    ]  # fmt: skip
    made = _with_levels(frame, numbers, ["city", "animal", "furniture"])
    return made.assign(target=np.log(frame["total"]))


def census(features: Path, prices: Path) -> pd.DataFrame:
    """Put the price of one file beside the features of another, row by row."""
    frame = pd.read_csv(features)
    names = [
        "P1", "P5p1", "P6p2", "P11p4", "P14p9", "P15p1", "P15p3", "P16p2", "P18p2", "P27p4",
        "H2p2", "H8p2", "H10p1", "H13p1", "H18pA", "H40p4",
    ]  # fmt: skip
    return frame[names].assign(target=plain_arff(prices)["target"])


def isolet(path: Path) -> pd.DataFrame:
    """Find the array with 617 columns, and the letters."""
    from scipy.io import loadmat

    arrays = [value for value in loadmat(path).values() if isinstance(value, np.ndarray)]
    X = next(value for value in arrays if value.ndim == 2 and value.shape[1] == 617)
    letters = next(value for value in arrays if value.size == len(X))
    frame = pd.DataFrame(X.astype(np.float32), columns=[f"f{i}" for i in range(1, 618)])
    return frame.assign(target=letters.ravel().astype(int))


def black_friday(path: Path) -> pd.DataFrame:
    """Keep rows with all product categories; take the logarithm of the purchase."""
    names = [f"Product_Category_{i}" for i in (1, 2, 3)]
    frame = pd.read_csv(path).dropna(subset=names).reset_index(drop=True)
    for name in ("Age", "Stay_In_Current_City_Years"):
        frame[name] = frame[name].astype(str).str.replace("+", "plus")
    frame[names] = frame[names].astype(int)
    levels = ["Gender", "Age", "City_Category", "Stay_In_Current_City_Years", "Marital_Status"]
    made = _with_levels(frame, ["Occupation", *names], levels)
    return made.assign(target=np.log(frame["Purchase"]))


def complete_california(path: Path) -> pd.DataFrame:
    """Leave out how far the ocean is, and rows with missing values."""
    frame = pd.read_csv(path).drop(columns="ocean_proximity").dropna()
    price = frame.pop("median_house_value")
    return frame.assign(target=price)


def nba(path: Path) -> pd.DataFrame:
    """Predict the points at home."""
    names = ["FT_PCT_home", "FG3_PCT_home", "FG_PCT_home", "AST_home", "REB_home", "PTS_home"]
    return _last_is_target(pd.read_csv(path)[names].dropna())


def garbage(path: Path) -> pd.DataFrame:
    """Predict the refuse of a borough's district in a month, up to July 2022."""
    frame = pd.read_csv(path)
    numbers = ["PAPERTONSCOLLECTED", "MGPTONSCOLLECTED"]
    target = "REFUSETONSCOLLECTED"
    frame = frame[frame["MONTH"] <= "2022 / 07"].dropna(subset=[*numbers, target])
    return _with_levels(frame, numbers, ["BOROUGH"]).assign(target=frame[target])


#: Fields of Retrosheet's game logs, counted from 1.
_GAMES = {
    "v_strikeouts": 33, "v_walks": 31, "v_pitchers_used": 39, "v_errors": 46, "h_at_bats": 50,
    "h_hits": 51, "h_doubles": 52, "h_triples": 53, "h_homeruns": 54, "h_stolen_bases": 62,
    "target": 11,
}  # fmt: skip


def _games(paths: Sequence[Path]) -> Iterator[list[str]]:
    for path in paths:
        with path.open(encoding="latin-1", newline="") as file:
            for game in csv.reader(file):
                yield [game[place - 1] for place in _GAMES.values()]


def mlb(*paths: Path) -> pd.DataFrame:
    """Predict the score at home; games with unknown numbers are left out."""
    rows = np.array([row for row in _games(paths) if "" not in row], dtype=int)
    return pd.DataFrame(rows[(rows != -1).all(axis=1)], columns=list(_GAMES))


def heart(path: Path, *, complete: bool) -> pd.DataFrame:
    """Keep complete rows only, or put the median for what is missing."""
    frame = _last_is_target(pd.read_csv(path))
    return frame.dropna() if complete else frame.fillna(frame.median())


def bank(path: Path) -> pd.DataFrame:
    """Count months, and make levels of the job and the like."""
    frame = pd.read_csv(path)
    months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    frame["month"] = frame["month"].map({name: i for i, name in enumerate(months, 1)})
    for name in ("default", "housing", "loan", "deposit"):
        frame[name] = frame[name].map({"no": 0, "yes": 1})
    numbers = [
        "age", "default", "balance", "housing", "loan", "day", "month", "duration", "campaign",
        "pdays", "previous",
    ]  # fmt: skip
    made = _with_levels(frame, numbers, ["job", "marital", "education", "contact", "poutcome"])
    return made.assign(target=frame["deposit"])


#: Ranges of ICD-9 codes.
_DIAGNOSES = {
    "neoplasms": [(140, 239)],
    "circulatory": [(390, 459), (785, 785)],
    "respiratory": [(460, 519), (786, 786)],
    "digestive": [(520, 579), (787, 787)],
    "genitourinary": [(580, 629), (788, 788)],
    "musculoskeletal": [(710, 739)],
    "injury": [(800, 999)],
    "diabetes": [(250, 250)],
}
_DRUGS = (
    "metformin", "repaglinide", "nateglinide", "chlorpropamide", "glimepiride", "acetohexamide",
    "glipizide", "glyburide", "tolbutamide", "pioglitazone", "rosiglitazone", "acarbose",
    "miglitol", "troglitazone", "tolazamide", "insulin", "glyburide-metformin",
    "glipizide-metformin", "glimepiride-pioglitazone", "metformin-rosiglitazone",
    "metformin-pioglitazone",
)  # fmt: skip


def _diagnosis(code: str) -> str:
    if code == "?":
        return "missing"
    if code[0] in "EV":
        return "other"
    number = int(float(code))
    for name, ranges in _DIAGNOSES.items():
        if any(low <= number <= high for low, high in ranges):
            return name
    return "other"


def diabetes(path: Path) -> pd.DataFrame:
    """Group diagnoses, count grades, and make levels of the rest; the label is within 30 days."""
    with zipfile.ZipFile(path) as archive:
        name = next(one for one in archive.namelist() if one.endswith("diabetic_data.csv"))
        frame = pd.read_csv(archive.open(name), dtype=str, keep_default_na=False)
    counts = [
        "time_in_hospital", "num_lab_procedures", "num_procedures", "num_medications",
        "number_outpatient", "number_emergency", "number_inpatient", "number_diagnoses",
    ]  # fmt: skip
    tests = {"max_glu_serum": "None Norm >200 >300", "A1Cresult": "None Norm >7 >8"}
    columns = {"age": frame["age"].str.extract(r"\[(\d+)-")[0].astype(int) // 10}
    columns["male"] = (frame["gender"] == "Male").astype(int)
    columns |= {name: frame[name].astype(int) for name in counts}
    graded = {**tests, **dict.fromkeys(_DRUGS, "No Down Steady Up")}
    for name, grades in graded.items():
        ranks = {grade: rank for rank, grade in enumerate(grades.split())}
        columns[name.replace("-", "_")] = frame[name].map(ranks)
    columns["change"] = (frame["change"] == "Ch").astype(int)
    columns["diabetesMed"] = (frame["diabetesMed"] == "Yes").astype(int)
    diagnoses = [_levels(frame[f"diag_{i}"].map(_diagnosis), f"diag_{i}") for i in (1, 2, 3)]
    codes = [
        f"{name}_id" for name in ("admission_type", "discharge_disposition", "admission_source")
    ]
    rest = [
        _levels(frame["race"].replace("?", "missing")),
        *(_levels(frame[name]) for name in codes),
    ]
    target = (frame["readmitted"] == "<30").astype(int).rename("target")
    return pd.concat([pd.DataFrame(columns), *diagnoses, *rest, target], axis=1)


def microarray(path: Path) -> pd.DataFrame:
    """Take a list of a matrix and a factor."""
    return _samples(*read_rdata(path))


def leukaemia(path: Path) -> pd.DataFrame:
    """Keep samples of the types NEG and BCR/ABL."""
    matrix, labels = read_all(path)
    kept = np.isin(labels, ["NEG", "BCR/ABL"])
    return _samples(matrix[kept], [label for label, keep in zip(labels, kept, strict=True) if keep])


def _samples(matrix: np.ndarray, labels: list[str]) -> pd.DataFrame:
    codes = {label: code for code, label in enumerate(sorted(set(labels)))}
    return pd.DataFrame(
        {
            "x": list(matrix.astype(np.float32)),
            "y": np.array([codes[label] for label in labels], dtype=np.int8),
            "label": labels,
        }
    )


#: The commit of each file of the package `datamicroarray`.
COMMITS = {
    "alon": "052005822fa6ed5e9342e174fa6032388d5400c1",
    "borovecki": "d219c0141bfb1653b3e00ecde0c50baf25832864",
    "chowdary": "e4fad2d28db29c595acdc72267f330ebe20c80f6",
    "christensen": "45810be1718c30272058fb09a8fa53e6ae87ae56",
    "golub": "45810be1718c30272058fb09a8fa53e6ae87ae56",
    "gravier": "a7374d8608680ff8a42bfa68bd7ba274728b8f1e",
    "khan": "052005822fa6ed5e9342e174fa6032388d5400c1",
    "singh": "052005822fa6ed5e9342e174fa6032388d5400c1",
    "sorlie": "8d57b13dd9c90252725e3a30f41b9adcef581f5b",
    "su": "6729a11aac98ca7ef6ab85183d654875c612c1ed",
    "subramanian": "2154240c063450149c643c707eee49a4c4df3ab2",
}
