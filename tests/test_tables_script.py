"""The script that fetches and prepares the shared tables, from sources made anew on loopback.

What a recipe leaves out is made up here; the rest is taken back from the prepared table. So a
recipe is right about names, order, levels and transformations; whether the public file still looks
like this, its checksum tells when it is fetched.
"""

from __future__ import annotations

import http.server
import json
import threading
import types
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pytest

from scripts import table_formats, tables
from scripts.table_recipes import _DRUGS, _GAMES

pytestmark = pytest.mark.papers


def without_target(frame, name):
    return frame.rename(columns={"target": name})


def undone(frame, *names):
    """Put levels back into a column each."""
    columns = {name: frame[name] for name in frame}
    for name in names:
        own = [column for column in columns if column.startswith(f"{name}_")]
        values = np.column_stack([columns.pop(column) for column in own]).argmax(axis=1)
        columns[name] = [own[place].removeprefix(f"{name}_") for place in values]
    return pd.DataFrame(columns)


def exponential(column, digits=0):
    return np.exp(column).round(digits)


def arff(frame, path):
    text = "% a comment\n@relation made\n"
    text += "".join(f"@attribute {name}  numeric\n" for name in frame) + "\n@data\n"
    path.write_text(text + frame.to_csv(index=False, header=False), encoding="utf-8")


def delimited(frame, path, sep=","):
    frame.to_csv(path, index=False, sep=sep)


def zipped(frame, path, name):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, frame.to_csv(index=False))


def pol(frame, path):
    for name in ("f1", "f12", "f48"):
        frame[name] = 100
    target = frame.pop("target")
    arff(frame[sorted(frame, key=lambda name: int(name[1:]))].assign(foo=target), path)


def ailerons(frame, path):
    target = frame.pop("target")
    arff(frame.assign(few=np.arange(len(frame)) % 9, goal=target), path)


def houses(frame, path):
    arff(without_target(frame.assign(target=exponential(frame.target)), "medianHouseValue"), path)


def california(frame, path):
    (place,) = (p for p in [tables.DATA / "houses.parquet"] if p.is_file())
    houses(pd.read_parquet(place), path)


def soil(frame, path):
    frame = undone(without_target(frame, "track"), "isns")
    arff(frame[["northing", "easting", "resistivity", "isns", "track"]], path)


def supreme(frame, path):
    levels = ("Liberal", "Unconstitutional", "Precedent_alteration", "Unanimous")
    arff(undone(frame, *levels, "Lower_court_disagreement").rename(
        columns={"target": "Log_exposure"}), path)  # fmt: skip


def sulfur(frame, path):
    frame = frame[["u1", "u2", "u3", "u4", "u5", "target", "y2"]]
    lines = ["  ".join(map(repr, row)) for row in frame.to_numpy().tolist()]
    path.write_text("\n".join(["what it is", "u1 u2 u3 u4 u5 y1 y2", *lines]), encoding="utf-8")


def wine(frame, red, white):
    frame.columns = [name.replace("_", " ") for name in frame]
    delimited(without_target(frame[:1599], "quality"), red, ";")
    delimited(without_target(frame[1599:], "quality"), white, ";")


def miami(frame, path):
    frame["PARCELNO"], frame["avno60plus"], frame["structure_quality"] = 1, 0, 4
    delimited(without_target(frame.assign(target=exponential(frame.target)), "SALE_PRC"), path)


def bikes(frame, path):
    levels = ("season", "yr", "holiday", "workingday", "weathersit")
    delimited(without_target(undone(frame, *levels), "cnt").assign(weekday=6, casual=3), path)


def sgemm(frame, path):
    frame = undone(frame, "KWG", "KWI", "STRM", "STRN", "SA", "SB").assign(MWG=16)
    frame["target"] = exponential(frame.target, 2)
    runs = {"target": "Run1 (ms)", **{f"Run{i}": f"Run{i} (ms)" for i in (2, 3, 4)}}
    zipped(frame.rename(columns=runs), path, "folder/sgemm_product.csv")


def brazil(frame, path):
    frame = undone(frame, "city", "animal", "furniture").assign(floor="-")
    frame["target"] = exponential(frame.target)
    money = {n: f"{n.replace('_', ' ')} (R$)" for n in (
        "hoa", "rent_amount", "property_tax", "fire_insurance")}  # fmt: skip
    named = {"target": "total (R$)", "parking_spaces": "parking spaces", **money}
    delimited(frame.rename(columns=named), path)


def census(frame, features, prices):
    delimited(frame.drop(columns="target").assign(binaryClass="P"), features)
    arff(frame[["P1", "target"]].rename(columns={"target": "price"}), prices)


def isolet(frame, path):
    from scipy.io import savemat

    letters = frame.pop("target").to_numpy()[:, None]
    savemat(path, {"data": frame.to_numpy(np.float64), "answer": letters})


def black_friday(frame, path):
    frame = undone(frame, "Gender", "Age", "City_Category", "Stay_In_Current_City_Years")
    frame = undone(frame, "Marital_Status").assign(target=exponential(frame.target))
    for name in ("Age", "Stay_In_Current_City_Years"):
        frame[name] = frame[name].str.replace("plus", "+")
    frame = without_target(frame, "Purchase")
    other = frame[:7].assign(Product_Category_3=np.nan)
    delimited(pd.concat([other, frame]).assign(User_ID=1), path)


def amin_california(frame, path):
    frame = without_target(frame, "median_house_value").assign(ocean_proximity="INLAND")
    delimited(pd.concat([frame, frame[:3].assign(total_bedrooms=np.nan)]), path)


def nba(frame, path):
    frame = without_target(frame, "PTS_home").assign(GAME_ID=1, FT_PCT_away=0.7)
    delimited(pd.concat([frame[:1].assign(AST_home=np.nan), frame]), path)


def garbage(frame, path):
    frame = undone(without_target(frame, "REFUSETONSCOLLECTED"), "BOROUGH")
    frame = frame.assign(MONTH="2022 / 07")
    later, gap = frame[:2].assign(MONTH="2022 / 08"), frame[:1].assign(PAPERTONSCOLLECTED=np.nan)
    delimited(pd.concat([later, gap, frame]), path)


def mlb(frame, *paths):
    games = np.full((len(frame) + 2, 161), "x", dtype=object)
    for name, place in _GAMES.items():
        games[:-2, place - 1] = frame[name]
    games[-2:] = games[:2]
    games[-2, 32], games[-1, 49] = "-1", ""
    parts = np.array_split(games, len(paths))
    for part, path in zip(parts, paths, strict=True):
        pd.DataFrame(part).to_csv(path, index=False, header=False)


def framingham(frame, path):
    frame = without_target(frame, "TenYearCHD")
    delimited(pd.concat([frame, frame[:4].assign(glucose=np.nan)]), path)


def framingham_imputed(frame, path):
    # Where the median stands it may have been missing: a few times, so that it stays the median.
    places = np.flatnonzero(frame["glucose"] == frame["glucose"].median())[:3]
    frame = frame.astype({"glucose": float})
    frame.loc[places, "glucose"] = np.nan
    delimited(without_target(frame, "TenYearCHD"), path)


def bank(frame, path):
    frame = undone(frame, "job", "marital", "education", "contact", "poutcome")
    months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    frame["month"] = [months[month - 1] for month in frame["month"]]
    for name in ("default", "housing", "loan", "target"):
        frame[name] = frame[name].map({0: "no", 1: "yes"})
    delimited(without_target(frame, "deposit"), path)


CODES = {
    "circulatory": "428", "diabetes": "250.83", "digestive": "577", "genitourinary": "584",
    "injury": "996", "missing": "?", "musculoskeletal": "715", "neoplasms": "197", "other": "V27",
    "respiratory": "486",
}  # fmt: skip


def diabetes(frame, path):
    codes = ("admission_type_id", "discharge_disposition_id", "admission_source_id")
    frame = undone(frame, "diag_1", "diag_2", "diag_3", "race", *codes)
    for i in (1, 2, 3):
        frame[f"diag_{i}"] = frame[f"diag_{i}"].map(CODES)
    frame["race"] = frame["race"].replace("missing", "?")
    frame["age"] = [f"[{10 * age}-{10 * age + 10})" for age in frame["age"]]
    frame["gender"] = frame["male"].map({0: "Female", 1: "Male"})
    for name, grades in {"max_glu_serum": "None Norm >200 >300",
                         "A1Cresult": "None Norm >7 >8"}.items():  # fmt: skip
        frame[name] = [grades.split()[grade] for grade in frame[name]]
    for drug in _DRUGS:
        grades = frame.pop(drug.replace("-", "_"))
        frame[drug] = [("No", "Down", "Steady", "Up")[grade] for grade in grades]
    frame["change"] = frame["change"].map({0: "No", 1: "Ch"})
    frame["diabetesMed"] = frame["diabetesMed"].map({0: "No", 1: "Yes"})
    frame["readmitted"] = frame["target"].map({0: ">30", 1: "<30"})
    zipped(frame.assign(weight="?"), path, "dataset_diabetes/diabetic_data.csv")


MADE = {
    "cpu_act": lambda frame, path: arff(without_target(frame, "usr"), path),
    "pol": pol, "Ailerons": ailerons, "houses": houses, "california": california,
    "visualizing_soil": soil, "analcatdata_supreme": supreme, "sulfur": sulfur,
    "wine_quality": wine, "MiamiHousing2016": miami, "Bike_Sharing_Demand": bikes,
    "SGEMM_GPU_kernel_performance": sgemm, "Brazilian_houses": brazil, "house_16H": census,
    "isolet_1560rows": isolet, "black_friday_10pct": black_friday,
    "amin_california": amin_california, "amin_nba": nba, "amin_garbage": garbage, "amin_mlb": mlb,
    "framingham": framingham, "framingham_imputed": framingham_imputed, "bank_marketing": bank,
    "diabetes_readmission": diabetes,
}  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Serve a folder on loopback; give the folder and its address."""
    folder = tmp_path_factory.mktemp("site")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Handler, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def put(site, name, frame, make):
    """Make the files of a source on the site."""
    folder, _ = site
    paths = [folder / address for address in tables.SOURCES[name].addresses]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    make(frame, *paths)


def run(site, tmp_path, name, *options):
    _, host = site
    where = ["--data", str(tmp_path / "data"), "--cache", str(tmp_path / "cache"), "--host", host]
    return tables.main([name, *where, *options])


@pytest.mark.parametrize("name", MADE)
def test_a_table_is_made_of_its_source(shared_data, site, tmp_path, name, capsys):
    path = shared_data(f"{name}.parquet")
    put(site, name, pd.read_parquet(path), MADE[name])
    assert run(site, tmp_path, name) == 0, capsys.readouterr().out
    made, meant = (pd.read_parquet(p) for p in (tmp_path / "data" / path.name, path))
    assert list(made.columns) == list(meant.columns)
    np.testing.assert_allclose(made.to_numpy(float), meant.to_numpy(float), rtol=1e-12)
    assert "licence" in capsys.readouterr().out
    # The second time it is there.
    assert run(site, tmp_path, name, "--check") == 0
    assert capsys.readouterr().out == f"{name}: there\n"


def test_a_source_that_changed_is_noticed(shared_data, site, tmp_path, capsys):
    frame = pd.read_parquet(shared_data("sulfur.parquet"))
    frame.loc[5, "y2"] += 1e-3
    put(site, "sulfur", frame, sulfur)
    assert run(site, tmp_path, "sulfur") == 1
    assert "OTHER than the table meant" in capsys.readouterr().out
    assert not (tmp_path / "data" / "sulfur.parquet").exists()
    assert (tmp_path / "cache" / "sulfur.parquet").exists()


def test_another_table_of_that_name_stays(site, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "sulfur.parquet"
    pd.DataFrame({"target": [1.0]}).to_parquet(path)
    content = path.read_bytes()
    assert run(site, tmp_path, "sulfur") == 1
    assert "ANOTHER table" in capsys.readouterr().out
    assert path.read_bytes() == content


def test_what_cannot_be_fetched_is_said_and_the_rest_is_made(shared_data, site, tmp_path, capsys):
    put(site, "cpu_act", pd.read_parquet(shared_data("cpu_act.parquet")), MADE["cpu_act"])
    where = ["--data", str(tmp_path / "data"), "--cache", str(tmp_path / "cache")]
    assert tables.main(["microarray_sorlie", "cpu_act", *where, "--host", site[1]]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("microarray_sorlie: FAILED: HTTPError")
    assert second.startswith("cpu_act: made")


def test_a_microarray_is_made_of_what_r_saved(shared_data, site, tmp_path, monkeypatch):
    frame = pd.read_parquet(shared_data("microarray_sorlie.parquet"))
    saved = {"sorlie": {"x": np.stack(list(frame["x"])), "y": list(frame["label"])}}
    reader = types.SimpleNamespace(read_rda=lambda _: saved)
    monkeypatch.setattr(table_formats, "_rdata", lambda: reader)
    put(site, "microarray_sorlie", frame, lambda _, path: path.write_bytes(b"-"))
    assert run(site, tmp_path, "microarray_sorlie") == 0


def test_checksums_are_those_of_the_shared_tables(shared_data):
    folder = shared_data("README.md").parent
    known = json.loads(tables.CHECKSUMS.read_text(encoding="utf-8"))
    assert set(known) == set(tables.SOURCES) == {path.stem for path in folder.glob("*.parquet")}
    for name in ("wine_quality", "microarray_khan"):
        assert tables.check(folder, name, known)


def test_a_checksum_is_of_names_order_and_values_not_of_types():
    frame = pd.DataFrame({"a": [1, 2], "target": [0.5, 1.0]})
    same = frame.astype({"a": "int8", "target": "float32"})
    assert tables.checksum(frame) == tables.checksum(same)
    for other in (frame[::-1], frame[["target", "a"]], frame.rename(columns={"a": "b"}), frame * 2):
        assert tables.checksum(frame) != tables.checksum(other)
