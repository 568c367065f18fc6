"""What files of older versions say, as plain facts to compare.

Run as a program, it writes down what the version installed says: only ever with the version that
made the files.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console

import nolook
from nolook.federated.batch_file import read_batch
from nolook.federated.pending import read_pending
from nolook.formats.parts import recipe_content
from nolook.formats.selection_file import Selection
from nolook.formats.strict import convert, read_object
from nolook.privacy.ledger import ReleaseDetails
from nolook.report.distribution_findings import ecdf_findings
from nolook.report.model_findings import model_findings
from nolook.report.page import render_page
from nolook.report.selection_findings import selection_findings
from nolook.report.terminal import print_findings

FOLDER = Path(__file__).resolve().parents[1] / "data" / "version_0_1"
FILES = sorted(
    path.name
    for path in FOLDER.iterdir()
    if path.suffix in {".json", ".ledger", ".pending"} and path.name != "expected.json"
)

_NUMBERS = (
    "coef_",
    "coef_interval_",
    "intercept_",
    "intercept_interval_",
    "label_range_",
    "row_norm_",
    "r2_",
    "r2_interval_",
    "rmse_",
    "rmse_interval_",
)
# What version 0.1 called otherwise.
_NOW = {"label_range_": "target_range_"}
_HEAD = ("format", "schema_version", "nolook_version", "target")


def facts(name, tmp_path):
    """Return what a file says, and what is shown of it: a page and printed text."""
    readers = {
        "model.json": _model,
        "distribution.json": _distribution,
        "selection.json": _selection,
        "batch.json": _batch,
        "pending": _pending,
        "ledger": partial(_ledger, folder=tmp_path),
    }
    return readers.get(name.split(".", 1)[1], _for_people)(FOLDER / name)


def _for_people(path):
    """What no part of nolook reads again."""
    document = read_object(path)
    privacy = nolook.PrivacyGuarantee.from_dict(document["privacy"])
    return {"format": document["format"], "privacy": privacy.to_dict()}, ()


def _batch(path):
    batch = read_batch(path)
    return {"digest": batch.digest.hex(), "points": len(batch.points())}, ()


def _model(path):
    model = nolook.load(path)
    part = getattr(model, "regressor_", model)
    findings = model_findings(model)
    said = _about(model, findings) | {
        "class": type(part).__name__,
        "failed": vars(part).get("failed_"),
        "features": list(part.scaling_.names),
        "numbers": {name: _numbers(getattr(part, _NOW.get(name, name))) for name in _NUMBERS},
        "whole": [_numbers(model.coef_), _numbers(model.intercept_)],
        "predictions": _numbers(model.predict(_rows(model))),
    }
    if hasattr(model, "selector_"):
        said["selection"] = _chosen(model.selector_)
    return said, _shown(findings, path)


def _rows(model):
    """Five rows for any model, within the range of people and far beyond it."""
    steps = np.arange(model.n_features_in_)
    rows = np.stack([0.0 * steps, steps - 1.0, 40.0 + 60.0 * steps, 1e6 - steps, -1e6 * steps])
    if not hasattr(model, "feature_names_in_"):
        return rows
    return pa.table(dict(zip(model.feature_names_in_, rows.T, strict=True)))


def _distribution(path):
    ecdf = nolook.load(path)
    findings = ecdf_findings(ecdf, "age")
    said = _about(ecdf, findings) | {
        "class": type(ecdf).__name__,
        "grid": repr(ecdf.grid),
        "smoothing": ecdf.smoothing,
        "rows": _numbers(ecdf.n_rows_),
        "cdf": _numbers(np.stack(ecdf.cdf([-1.0, 0.3, 40.0, 170.0, 1e9], return_std=True))),
        "quantile": _numbers(np.stack(ecdf.quantile([0.1, 0.5, 0.9], return_std=True))),
        "trimmed_mean": _numbers(ecdf.trimmed_mean(0.1)),
    }
    return said, _shown(findings, path)


def selection(path):
    """Return the selector of a selection's file, and its target."""
    document = read_object(path)
    head = {key: document.pop(key) for key in _HEAD}
    return convert(document, Selection).estimator(), head["target"]


def _selection(path):
    selector, target = selection(path)
    findings = selection_findings(selector, target)
    return _about(selector, findings) | _chosen(selector), _shown(findings, path)


def _shown(findings, path):
    console = Console(file=io.StringIO(), width=100)
    print_findings(console, findings, output=path, report_file=None)
    return render_page(findings, table="people"), console.file.getvalue()


def _chosen(selector):
    order = getattr(selector, "order_", None)
    return {
        "selector": type(selector).__name__,
        "k": selector.k,
        "support": selector.support_.tolist(),
        "order": None if order is None else order.tolist(),
        "cost": selector.privacy_.to_dict(),
    }


def _about(release, findings):
    """Return the guarantee, why there is none, and how the table was read."""
    private = release.privacy_.private
    return {
        "privacy": release.privacy_.to_dict(),
        "why not private": None if private else findings.origin.why_not_private()[0],
        "recipe": recipe_content(release.recipe_) if _named(release) else None,
    }


def _pending(path):
    first, second = read_pending(path, read_batch(path.with_suffix(".batch.json")), None)
    digests = [hashlib.sha256(both.tobytes()).hexdigest() for both in (first, second)]
    return {"reports": len(first), "digests": digests}, ()


def _ledger(path, folder):
    copied = shutil.copy(path, folder)
    with nolook.Ledger(copied) as ledger:
        left = ledger.remaining
        said = {
            "name": ledger.name,
            "budget": ledger.budget.to_dict(),
            "left": [str(left.epsilon), str(left.delta)],
            "history": [
                # Of what is kept today, nothing is known of an old release.
                repr(entry).replace(f", details={ReleaseDetails()}", "")
                for entry in ledger.history()
            ],
        }
    return said, ()


def _numbers(value):
    """Return numbers as texts that read back bit for bit, infinite ones too."""
    if value is None:
        return None
    return [number.hex() for number in np.asarray(value, dtype=np.float64).ravel().tolist()]


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        said = {name: facts(name, Path(folder))[0] for name in FILES}
    (FOLDER / "expected.json").write_text(json.dumps(said, indent=1) + "\n")


def _named(release):
    """Tell whether the columns had names of their own, so that the file says how to read them."""
    return isinstance(release, nolook.ECDF | nolook.PrivatePipeline) or hasattr(
        release, "feature_names_in_"
    )
