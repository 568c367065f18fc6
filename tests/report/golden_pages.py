"""Every kind of release in every state; what a reader of its page and of the terminal sees.

    python -m tests.report.golden_pages

stores that in golden/content.txt, and the pages of `WHOLE` as they are: read what changed with
`git diff` before you commit it.
"""

from __future__ import annotations

import io
import re
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import attrs
import numpy as np
import pyarrow as pa
from attrs import evolve
from jinja2.runtime import Macro
from rich.console import Console

import nolook
from nolook._unit import Unit
from nolook.algorithms.cross_validation import Estimate
from nolook.algorithms.glm.additive_inference import ColumnCurve
from nolook.algorithms.glm.counts import CountRelease
from nolook.algorithms.glm.error_inference import CutErrors
from nolook.algorithms.glm.logistic import LogisticRelease
from nolook.algorithms.scaling import NoisyCount, Scaling
from nolook.algorithms.whitening import Spread
from nolook.estimators._scores import Scored
from nolook.estimators.folds import CrossValidation
from nolook.estimators.quantiles import quantiles
from nolook.formats.files import one_line
from nolook.privacy.guarantee import Budget, GaussianEvent, PrivacyGuarantee
from nolook.privacy.ledger import Amount, LedgerEntry, ReleaseDetails
from nolook.report.distribution_findings import ecdf_findings, quantiles_findings
from nolook.report.evaluation_findings import evaluation_findings
from nolook.report.folds_findings import folds_findings
from nolook.report.ledger_page import render_ledger_page
from nolook.report.ledger_terminal import print_history, print_ledger
from nolook.report.model_findings import model_findings
from nolook.report.page import render_page
from nolook.report.plan_findings import plan_section
from nolook.report.score_findings import calibration_findings, roc_findings
from nolook.report.selection_findings import selection_findings
from nolook.report.terminal import print_findings
from tests.formats.releases import release
from tests.report.hand_made import (
    OPTIONAL,
    Choosy,
    choosing,
    counted,
    current,
    dropping,
    fitted,
    make_constant,
    not_detected,
    probable,
    unclipped,
    withheld,
    without,
)
from tests.report.pages import of_table

FOLDER = Path(__file__).resolve().parent / "golden"
#: Pages, and printed texts, that are stored as they are.
WHOLE = ("clipped", "distribution")
_HEADS = {"h2": "## ", "dt": "- "}
_INLINE, _CELLS = {"bdi", "br", "strong"}, {"td", "th"}
NASTY = ("<b>'x'</b>", 'a&amp;b "twice"', "\u202eleft\n\x00\x1b[31m", "年収 Größe", "x" * 60)
SCORED = Scored("probability", "deposit", "yes")
GRID = nolook.LinearGrid(0, 100, 1)
SEEN = np.ones(4, dtype=bool)


def called_private(release):
    """Have a seeded release pass for a private one: the same noise each time."""
    release.privacy_ = attrs.evolve(release.privacy_, private=True)
    return release


def shares():
    """Probabilities and what happened, the same each time and about right."""
    places = np.arange(4000)
    probability = (places * 0.6180339887) % 1.0
    return probability, (places * 0.7548776662) % 1.0 < probability


def many_features():
    return fitted([*(f"feature_{place}" for place in range(25)), "income"])


def levels():
    """Contrasts with a level, and with all values that have no level of their own."""
    read_options = {
        "features": ["city", "sex", "age"],
        "categories": {"city": ["Bern", "Basel", "<b>", None], "sex": ["F"]},
        "missing": "drop-row",
    }
    names = ("city=Basel", "city=<b>", "city=...", "sex=F", "age", "income")
    return fitted(names, read_options=read_options)


def current_levels(*places):
    """Contrasts of a model that chose some of its columns."""
    return choosing(counted(current(levels())), *places)


def five():
    return counted(current(fitted(("age", "height", NASTY[0], "weight", "rooms", "income"))))


def full_levels():
    """All levels of a category as columns."""
    sets = ("cut_Fair", "cut_Good", "cut_Ideal")
    model = counted(current(fitted((*sets, "income"))))
    model.level_sets_ = (sets,)
    return model


def clipped():
    """Clipped columns, one of them so much that its interval is withheld, and a clipped target."""
    return withheld(current(five(), [0.0, 0.031, 0.002, 0.1399, 0.03, 0.0501]), 3)


def following():
    """Columns that follow from others: the second from the first, the fourth from both others."""
    mixed = np.eye(5)
    mixed[1, :2], mixed[3, :4] = (-2.0, 0.1), (1.0, 0.0, 1.0, 0.1)
    values, vectors = np.linalg.eigh(mixed @ mixed.T)
    model = five()
    model.spread_ = Spread(np.zeros(5), (vectors / np.sqrt(values)) @ vectors.T)
    return model


def hidden_fit():
    return without(withheld(five(), 0, 1, -1), *OPTIONAL[2:])


def skewed(*, positive):
    """Large errors on one side, and half of the errors hidden."""
    model = five() if positive else without(five(), *OPTIONAL[6:])
    model.cut_errors_ = CutErrors(0.001, 0.0311, 12.25, positive)
    return model


def guesses():
    """A coefficient on a scale that is a guess; rows are shrunk."""
    model = fitted()
    model.row_norm_ = 2.75
    model.scaling_.detected[1] = False
    return model


def of_units(release, rows="weights"):
    """Have a release protect units."""
    release.privacy_ = attrs.evolve(release.privacy_, unit=Unit("patient_id", rows))
    return release


def some_units(rows):
    """A model of several rows of each unit has no intervals for its coefficients."""
    model = of_units(clipped(), rows)
    return model if rows == "weights" else withheld(model, *range(-1, 5))


def some_quantiles(private):
    values = 100 * shares()[0]
    table = np.column_stack([values, values**2])
    found = quantiles(table, [0.25, 0.5, 0.75], epsilon=1.0, delta=1e-6, random_state=1)
    object.__setattr__(found, "names", ("age", "<b>income</b>"))
    object.__setattr__(found, "privacy", attrs.evolve(found.privacy, private=private))
    object.__setattr__(found, "grids", {"age": GRID})
    return quantiles_findings(found)


def curve():
    made = nolook.ROCCurve(1.0, nolook.LinearGrid(0, 1, 0.01), random_state=1)
    made.fit(*shares()).scored_, made.asked_ = SCORED, (0.3, 0.505)
    return roc_findings(called_private(made))


def calibration():
    made = nolook.HosmerLemeshow(1.0, 5, random_state=1).fit(*shares())
    made.scored_ = SCORED
    return calibration_findings(called_private(made))


def evaluation(model, **told):
    """A model judged on rows whose first column is what it predicts."""
    values, happened = shares()
    X = np.stack([values, values], axis=1)[:, : len(model.coef_)]
    found = nolook.evaluate(model, X, happened, random_state=1, **told)
    found = evolve(found, privacy=attrs.evolve(found.privacy, private=True))
    found.roc.asked_ = (0.5,) if told else ()
    for part in filter(None, (found.roc, found.calibration)):
        part.scored_ = Scored("people.deposit.model.json", "deposit", "yes")
    return evaluation_findings(found)


def folds(*, hidden=False):
    """Scores of folds; of one there is no model, and of one noise hides the score."""
    found = [Estimate(0.75 + 0.01 * fold, 0.02) for fold in range(5)]
    if hidden:
        found[1:3] = None, Estimate(0.5, 0.25)
    fitted_ones = tuple(not hidden or fold != 1 for fold in range(5))
    rows = None if hidden else NoisyCount(20_012.0, 31.5, 512.0, None, 14.1)
    read_options = {"features": ["age"], "categories": {}, "missing": "drop-row"}
    fit = (GaussianEvent("number of rows", 0.05), GaussianEvent("gradients", 0.1))
    events = (*fit * 4, GaussianEvent("squared errors on held-out rows", 0.11))
    cost = PrivacyGuarantee(1.0, 1e-6, "add-remove", events, private=True)
    kept = (rows, (), cost, "linear", NASTY[0], read_options)
    return folds_findings(CrossValidation("R2", fitted_ones, tuple(found), *kept))


def people(target="income"):
    """Read a table that is the same each time."""
    first, second = np.arange(4000) * 0.6180339887 % 1.0, np.arange(4000) * 0.7548776662 % 1.0
    data = {"age": 100 * first, "height": 2 * second, "income": 50 * first + second}
    return nolook.read_table(pa.table(data), target)


def of_selection(selector, seen=called_private):
    return lambda: selection_findings(seen(selector.fit(people())))


def of_model(model, seen=called_private):
    return lambda: model_findings(seen(model.fit(people())))


def distribution(**options):
    return nolook.ECDF(1.0, GRID, random_state=1, **options).fit(100 * shares()[0])


def of_distribution(column="age", seen=called_private, **options):
    return lambda: ecdf_findings(seen(of_column(distribution(**options), column)))


def of_column(ecdf, column):
    """A distribution of a column of this name."""
    ecdf.read_options_ = {"features": [column], "categories": {}, "missing": "drop-row"}
    return ecdf


def as_it_is(release):
    """Return a release that says that its seed is known."""
    return release


def selected(selector, model):
    """A pipeline with seeds."""
    return nolook.PrivatePipeline(selector, model, epsilon=8.0, delta=1e-6)


def classified(*withheld_places, detected=True):
    return lambda: model_findings(classified_model(*withheld_places, detected=detected))


def classified_model(*withheld_places, detected=True):
    """A logistic model with numbers of its own, the same each time."""
    model = nolook.LogisticRegression()
    model._keep_rows(NoisyCount(101_712.0, 58.2))
    features = ["age", "height", "<b>income</b>"]
    scale = np.array([10.0, 0.2, 5e4, 1.0])
    model.scaling_ = Scaling((*features, "sick"), np.array([50.0, 1.7, 4e4, 0.0]), scale, SEEN)
    effect, margin = np.array([0.7, -0.01, -0.35]), np.array([0.06, 0.05, 0.07])
    model.coef_ = effect / scale[:-1]
    model.coef_interval_ = np.stack([effect - margin, effect + margin], axis=1) / scale[:-1, None]
    model.coef_interval_[list(withheld_places)] = np.nan
    model.intercept_, model.intercept_interval_ = -4.25, np.array([-4.5, -4.0])
    model.base_rate_, model.base_rate_interval_ = 0.1125, np.array([0.11, 0.115])
    model.pseudo_r2_, model.pseudo_r2_interval_ = 0.15, np.array([0.125, 0.175])
    model.auc_, model.auc_interval_ = 0.78125, np.array([0.77, 0.7925])
    if withheld_places:
        model.auc_ = model.auc_interval_ = None
    model.weight_norm_, model.detected_ = 3.75, detected
    model.spread_ = Spread.standard(3)
    model.clipped_share_ = np.array([0.0, 0.032, 0.01, 0.0])
    events = LogisticRelease(0.2).events()
    model.privacy_ = PrivacyGuarantee(1.0, 1e-6, "add-remove", events, private=True)
    model.classes_, model.n_features_in_ = np.array([0, 1]), 3
    model.feature_names_in_ = np.array(features, dtype=object)
    model.read_options_ = {"features": features, "categories": {}, "missing": "drop-row"}
    if not detected:
        model.coef_ *= 0.01
        without(
            model,
            "coef_interval_",
            "intercept_interval_",
            "auc_",
            "auc_interval_",
            "pseudo_r2_",
            "pseudo_r2_interval_",
        )
    return model


def bending():
    """An additive model of two curves, a line that was tried, and one that was not."""
    names = ("age", "<b>height</b>", "weight", "rooms", "income")
    model = counted(current(fitted(names, made_by=nolook.AdditiveRegression(straight=["rooms"]))))
    low, high = model.scaling_.low, model.scaling_.high
    places = [np.linspace(low[j], high[j], 9 if j < 3 else 2) for j in range(4)]
    bends = 2.0 * np.sin(np.arange(9.0)), 0.5 * (np.arange(9.0) - 4.0) ** 2 - 3.0
    heights = *bends, np.linspace(-1.0, 1.0, 9), np.array([0.25, -0.25])
    bands = heights[0][:, None] + [-0.5, 0.5], None, heights[2][:, None] + [-0.75, 0.75], None
    parts = zip(places, heights, bands, (0.5, 0.3, 0.15, 0.05), strict=True)
    model.curves_ = tuple(
        ColumnCurve(*each[:3], straight=j > 1, share=each[3], below=_BELOW if j < 2 else None)
        for j, each in enumerate(parts)
    )
    return model


#: Shares of rows below nine places.
_BELOW = np.array([0.0, 0.02, 0.1, 0.3, 0.55, 0.75, 0.9, 0.98, 1.0])


def bent(model, kind):
    """A model of three columns with a curve of the first; its lines are those it had."""
    made = kind(**model.get_params())
    vars(made).update(vars(model))
    low, high = model.scaling_.low, model.scaling_.high
    places = [np.linspace(low[j], high[j], 2 if j else 9) for j in range(3)]
    heights = [0.3 * np.sin(np.arange(9.0)), *(model.coef_[j] * places[j] for j in (1, 2))]
    bands = [one[:, None] + [-0.2, 0.2] for one in heights]
    made.curves_ = tuple(
        ColumnCurve(*each, straight=j > 0, share=(0.7, 0.3, 0.0)[j], below=None if j else _BELOW)
        for j, each in enumerate(zip(places, heights, bands, strict=True))
    )
    return made


def counting(*, exposure=None, exposures=None, detected=True):
    """A model of counts with numbers of its own, the same each time."""
    model = nolook.PoissonRegression(exposure=exposure)
    model._keep_rows(NoisyCount(20_190.0, 31.5))
    features = ["age", "days", "<b>income</b>"]
    scale = np.array([10.0, 80.0, 5e4, 2.5])
    model.scaling_ = Scaling((*features, "visits"), np.array([50.0, 200.0, 4e4, 0.0]), scale, SEEN)
    effect, margin = np.array([0.35, 0.2, -0.02]), np.array([0.04, 0.05, 0.06])
    model.coef_ = effect / scale[:-1]
    model.coef_interval_ = np.stack([effect - margin, effect + margin], axis=1) / scale[:-1, None]
    if exposure is not None:
        model.exposure_range_ = exposures
        model.coef_[1], model.coef_interval_[1] = 0.0, np.nan
    model.intercept_, model.intercept_interval_ = 0.75, np.array([0.5, 1.0])
    model.deviance_explained_ = 0.125
    model.deviance_explained_interval_ = np.array([0.1, 0.15])
    model.target_range_, model.influence_bound_ = (0.0, 125.0), 4.5
    model.weight_norm_, model.detected_ = 3.75, detected
    model.spread_ = Spread.standard(3)
    model.clipped_share_ = np.array([0.0, 0.01, 0.032, 0.04])
    events = CountRelease(0.2).events()
    model.privacy_ = PrivacyGuarantee(1.0, 1e-6, "add-remove", events, private=True)
    model.n_features_in_, model.feature_names_in_ = 3, np.array(features, dtype=object)
    model.read_options_ = {"features": features, "categories": {}, "missing": "drop-row"}
    if not detected:
        model.coef_ *= 0.01
        ends = ("coef_interval_", "intercept_interval_", "deviance_explained_interval_")
        without(model, *ends, "deviance_explained_")
    return model


class HandMadeLedger:
    """What pages ask of a ledger; as a file its entries would have the time of today."""

    def __init__(self, name, entries, relation="add-remove", spent=(1.75, 2e-6)):
        self.name, self.path, self.relation = name, Path("people.ledger"), relation
        self.budget, self.spent = Budget(3.0, 1e-5), Amount(*spent)
        self.remaining = Amount(3.0 - spent[0], 1e-5 - spent[1])
        self.unit = entries[0][-1].unit if entries else None
        self._entries = tuple(
            LedgerEntry(place, "2026-01-31T08:15:00+00:00", text, cost, relation, state, details)
            for place, (text, cost, state, details) in enumerate(entries, 1)
        )

    def history(self):
        return self._entries


def details(about, output, schema=None, table="people.csv", unit="row"):
    return ReleaseDetails(table, schema, about, output, "ada", unit)


def of_every_state():
    digest = "3f5a9c0b7e21" * 5
    income = details("income", "people.income.model.json", digest)
    return HandMadeLedger(
        "people 2026",
        (
            ("linear regression", Budget(1.0, 1e-6), "complete", income),
            ("distribution", Budget(0.25), "reserved", details("age", None)),
            ("Tukey mechanism", Budget(1.0, 1e-6), "refunded", details("income", "t.json")),
            ("table 3 of the annual report", Budget(0.5, 1e-6), "complete", ReleaseDetails()),
        ),
    )


def of_patients():
    unit = Unit("patient_id").in_words()
    stays = details("days", "visits.days.distribution.json", table="visits.csv", unit=unit)
    return HandMadeLedger(
        "visits 2026",
        (
            ("distribution", Budget(0.25), "complete", stays),
            ("table 3 of the annual report", Budget(0.5), "complete", ReleaseDetails(unit=unit)),
        ),
        spent=(0.75, 0.0),
    )


def of_odd_names():
    entries = [
        (name, Budget(1e-300, 1e-12), "complete", details(name, f"{name}.json", table=name))
        for name in map(one_line, (*NASTY, "x" * 500))
    ]
    return HandMadeLedger(NASTY[0], entries, "replace", (0.1 + 0.2, 1e-12))


LEDGERS = {
    "ledger": of_every_state,
    "ledger-names": of_odd_names,
    "ledger-units": of_patients,
    "ledger-new": lambda: HandMadeLedger("people", (), spent=(0.0, 0.0)),
}
PAGES = {
    "linear": of_model(nolook.LinearRegression(random_state=1)),
    "adassp": of_model(nolook.AdaSSPRegressor(random_state=1)),
    "boosted-adassp": of_model(nolook.BoostedAdaSSPRegressor(random_state=1)),
    "tukey-constant": of_model(nolook.TukeyRegressor(1e-3, on_failure="constant", random_state=1)),
    "constant": lambda: model_findings(
        make_constant(fitted(made_by=Choosy(on_failure="constant")))
    ),
    "selected": of_model(
        selected(
            nolook.KendallSelector(k=1, random_state=1), nolook.LinearRegression(random_state=1)
        )
    ),
    "seeded": of_model(nolook.LinearRegression(random_state=1), as_it_is),
    "many-features": lambda: model_findings(many_features()),
    "names": lambda: model_findings(fitted(NASTY)),
    "levels": lambda: model_findings(levels()),
    "full-levels": lambda: model_findings(full_levels()),
    "dropped": lambda: model_findings(counted(dropping(fitted(NASTY), 0, 2))),
    "dropped-many": lambda: model_findings(dropping(many_features(), *range(1, 25, 2))),
    "dropped-all": lambda: model_findings(dropping(fitted(), 0, 1)),
    "not-detected": lambda: model_findings(not_detected(dropping(fitted(), 1))),
    "not-detected-at-all": lambda: model_findings(
        counted(not_detected(dropping(fitted(), 0, 1)), 1.0, 42.0)
    ),
    "guessed-scales": lambda: model_findings(guesses()),
    "current": lambda: model_findings(five()),
    "clipped": lambda: model_findings(clipped()),
    "withheld": lambda: model_findings(withheld(dropping(five(), 1), 0, 2)),
    "withheld-all": lambda: model_findings(withheld(five(), *range(-1, 5))),
    "following": lambda: model_findings(following()),
    "hidden-fit": lambda: model_findings(hidden_fit()),
    "skewed": lambda: model_findings(skewed(positive=True)),
    "skewed-explained": lambda: model_findings(skewed(positive=False)),
    "chosen-levels": lambda: model_findings(current_levels(4, 1)),
    "not-detected-current": lambda: model_findings(not_detected(dropping(clipped(), 1))),
    "units": lambda: model_findings(some_units("weights")),
    "units-limited": lambda: model_findings(some_units(5)),
    "unclipped": lambda: model_findings(
        without(unclipped(fitted()), "r2_interval_", "coef_interval_")
    ),
    "logistic": classified(),
    "logistic-withheld": classified(1),
    "logistic-base-rate": classified(detected=False),
    "additive": lambda: model_findings(bending()),
    "additive-logistic": lambda: model_findings(
        bent(classified_model(), nolook.AdditiveClassifier)
    ),
    "additive-counts": lambda: model_findings(
        bent(counting(exposure="days", exposures=(3.0, 750.0)), nolook.AdditivePoissonRegression)
    ),
    "counts": lambda: model_findings(counting()),
    "counts-exposure": lambda: model_findings(counting(exposure="days", exposures=(3.0, 750.0))),
    "counts-no-exposure": lambda: model_findings(counting(exposure="days", exposures=(1.0, 1.0))),
    "counts-not-detected": lambda: model_findings(counting(detected=False)),
    "selection": of_selection(nolook.KendallSelector(k=1, random_state=1)),
    "selection-seeded": of_selection(nolook.KendallSelector(k=1, random_state=1), as_it_is),
    "selection-unordered": of_selection(nolook.LassoSelector(k=1, random_state=1)),
    "distribution": of_distribution(),
    "distribution-units": lambda: ecdf_findings(
        of_units(called_private(of_column(distribution(), "age")))
    ),
    "distribution-replace": of_distribution(relation="replace"),
    "distribution-seeded": of_distribution(NASTY[2], as_it_is),
    "quantiles": lambda: some_quantiles(private=True),
    "tabulation": lambda: release("tabulation").content(),
    "tabulation of several tables": lambda: release("tabulation", 1).content(),
    "tabulation of all pairs": lambda: release("tabulation", 3).content(),
    "description": lambda: release("description").content(),
    "group comparison": lambda: release("group comparison").content(),
    "three groups": lambda: release("group comparison", 2).content(),
    "group comparison of few rows": lambda: release("group comparison", 1).content(),
    "survival curve": lambda: release("survival curve").content(),
    "survival curves of groups": lambda: release("survival curve", 1).content(),
    "survival curve above half": lambda: release("survival curve", 3).content(),
    "survival curves of few rows": lambda: release("survival curve", 2).content(),
    "survival curves of full rows": lambda: release("survival curve", 4).content(),
    "quantiles-seeded": lambda: some_quantiles(private=False),
    "roc": curve,
    "calibration": calibration,
    "evaluation": lambda: evaluation(probable(1.0)),
    "evaluation-scores": lambda: evaluation(
        not_detected(fitted(("a", "b", "deposit"), private=False)), other_rows=True
    ),
    "cross-validation": folds,
    "cross-validation-hidden": lambda: folds(hidden=True),
}
#: Each is made once.
PAGES = {name: cache(make) for name, make in PAGES.items()}


def note_macros(call, reached):
    """Return a macro's call that notes which macro of which file it is."""

    def noted(self, *arguments):
        reached.add((Path(self._func.__code__.co_filename).stem, self.name))
        return call(self, *arguments)

    return noted


#: Macros that said anything so far: pairs of file and name.
REACHED = set()
Macro._invoke = note_macros(Macro._invoke, REACHED)


def whole_page(name):
    """Render the page of a release or of a ledger."""
    if name in LEDGERS:
        return render_ledger_page(LEDGERS[name]())
    return render_page(of_table(PAGES[name](), "people.parquet"))


def printed_text(name, width=80):
    """Return what the terminal shows of a release or of a ledger."""
    console = Console(file=io.StringIO(), width=width)
    if name in LEDGERS:
        print_ledger(console, LEDGERS[name]())
        print_history(console, LEDGERS[name]())
    else:
        files = {"output": Path("x.json"), "report_file": Path("x.html")}
        print_findings(console, PAGES[name](), **files)
    return console.file.getvalue()


@cache
def golden(name):
    """Return a page without its style and the points of its curves, and printed text."""
    page, printed = whole_page(name), printed_text(name)
    page = re.sub(r"<style>.*?</style>", "<style></style>", page, flags=re.DOTALL)
    page = re.sub(r'points="([^"]*)"', _how_many, page)
    return page.replace(f"nolook {nolook.__version__}", "nolook VERSION"), printed


def _how_many(points):
    return f'points="{len(points[1].split())} points"'


class _Lines(HTMLParser):
    """The lines of a page: sentences, rows of tables, titles of pictures."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.lines, self._line, self._inside = [], [], []
        self.feed(page)
        self._end()

    def handle_starttag(self, tag, attrs):
        if tag not in {"meta", "br"}:
            self._inside.append(tag)
        if tag in _CELLS:
            self._line += [" | "] if self._line else []
        elif "td" in self._inside and tag == "span":
            self._line.append(" ")
        elif tag not in _INLINE and not (tag == "span" and ("class", "whole") in attrs):
            self._end()
        if tag in _HEADS:
            self._line.append(_HEADS[tag])

    def handle_startendtag(self, tag, attrs):
        """Lines and marks of a picture."""

    def handle_endtag(self, tag):
        self._inside.pop()
        if tag not in {"span", *_INLINE, *_CELLS}:
            self._end()

    def handle_data(self, data):
        if self._inside[-1:] != ["style"] and "text" not in self._inside:  # labels of axes
            self._line += [data] if data.strip() or self._line else []

    def _end(self):
        line = " ".join("".join(self._line).split()).rstrip(" |")
        self.lines += [line] if line else []
        self._line = []


def _printed_lines(printed):
    """Lines as they are on the page."""
    rows = (re.split(r"  +", line.strip(" \u2500")) for line in printed.splitlines())
    return [" | ".join(row) for row in rows if row != [""]]


@cache
def content():
    """Say what each page and the terminal show, parts that an earlier page has only once.

    A line that the terminal prints too begins with `*`, one that it alone prints with `>`.
    """
    first, lines = {}, []
    for name in (*PAGES, *LEDGERS):
        page, printed = golden(name)[0], _printed_lines(printed_text(name, width=1000))
        shown = _Lines(page).lines
        marked = [("* " if line in printed else "  ") + line for line in shown]
        marked += ["  ## Printed only", *(f"> {line}" for line in printed if line not in shown)]
        lines += ["", f"# {name}"]
        for part in _parts(marked):
            known = first.setdefault(tuple(part), name)
            long = known != name and sum(map(len, part)) > 120
            lines += (
                [f"{part[0]} = {known}"] if long else (_cut(line, name, first) for line in part)
            )
    both = nolook.compare(five(), current(fitted()))
    lines += ["", "# two models", *str(both.summary()).splitlines(), "", "# plans"]
    methods = "logistic", "additive-poisson", "tabulate", "linear"
    plans = (plan_section(nolook.plan(20_000, 8, method=name)).notes for name in methods)
    unknown = plan_section(nolook.plan(20, 8, method="tukey", epsilon=0.1)).notes
    return [*lines, *dict.fromkeys(note for notes in (*plans, unknown) for note in notes)]


def _cut(line, name, first):
    known = first.setdefault(line[2:], name)
    return line if known == name or len(line) < 120 else f"{line[:60]}... = {known}"


def _parts(lines):
    """Divide lines before each heading."""
    heads = [place for place, line in enumerate(lines) if line[2:].startswith(("## ", "- "))]
    return [lines[start:stop] for start, stop in pairwise([0, *heads, len(lines)])]


if __name__ == "__main__":
    files = {"content.txt": "\n".join(content()) + "\n"}
    for name in WHOLE:
        files[f"{name}.html"], files[f"{name}.txt"] = golden(name)
    for old in FOLDER.iterdir():
        old.unlink()
    for name, text in files.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
