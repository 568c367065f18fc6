"""``nolook fit``: a private linear model, perhaps of columns chosen privately."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from nolook._defaults import DEFAULT_DELTA
from nolook._language import option_names, parameter_name
from nolook._validation import check_choice, check_delta, count_or_auto, refusal
from nolook.cli._options import MissingOption, column_names
from nolook.cli._release import Columns, Release, release_command
from nolook.errors import ParameterError, TargetNotVisible
from nolook.estimators.catalogue import (
    MODELS,
    MOST_BY_MOMENTS,
    SELECTORS,
    method_for,
)

# So that a seed gives the selection other noise than the regression.
_OTHER_SEED = 2**32


@release_command(
    "model.json",
    "The model file",
    {
        "--formula 'Y ~ A + B'": "Target and features as a formula, such as 'log(cost) ~ age + "
        "I(age**2) + sex*ward', instead of --target and --features.",
        f"--method {'|'.join(('auto', *MODELS))}": "Method of the fit.",
        "--select K|auto": "First choose this many columns, privately.",
        f"--selector {'|'.join(SELECTORS)}": "Method of the choice; by default moments with a "
        f"delta and at most {MOST_BY_MOMENTS} columns, otherwise kendall.",
        "--split S": "Share of epsilon for choosing them; 0.2 if not given.",
        "-k K|auto": "For linear: keep only this many columns, chosen from the same release.",
        "--straight A,B,C": "For additive models: columns with straight lines only.",
        "--monotone A=up|down,...": "For additive models: columns whose curves only rise (up), or "
        "only fall (down).",
        "--on-failure raise|constant": "For tukey: what to do if the private test fails; by "
        "default it is an error.",
        "--exposure COLUMN": "For models of counts: the column that the mean is proportional to, "
        "such as days at risk.",
    },
    forms={"missing": MissingOption},
    names={"selector__k": "--select", "regressor__k": "-k"},
)
def fit(
    release: Release,
    columns: Columns,
    *,
    formula: str | None = None,  # noqa: ARG001 -- read before: see `release_command`
    delta: float = DEFAULT_DELTA,
    method: str = "auto",
    select: str | None = None,
    selector: str | None = None,
    split: float | None = None,
    **own: str | None,
) -> None:
    """Fit a private linear, logistic or count model of a table and write it to a file.

    A target with two declared values, or with --positive, gets a logistic regression, any other
    target a linear regression, unless --method says otherwise.

    The exit status is 5 if the target did not stand out from the noise: the model is a constant.
    """
    budget = {"epsilon": release.epsilon, "delta": check_delta(delta, "--delta")}
    check_choice("--method", method, ("auto", *MODELS))
    for option, value in (("--selector", selector), ("--split", split)):
        if select is None and value is not None:
            raise ParameterError(f"{option} is given without --select (leave it out, or add it)")
    chosen = method_for(method, has_classes=lambda: bool(release.opened(columns).binary[-1]))
    make: Any = MODELS[chosen].load()
    parameters = _parameters(chosen, make, own)

    from nolook.report.model_findings import why_not_visible
    from nolook.report.model_words import words_of

    model = make(**budget, random_state=release.random_state, **parameters)
    if select is not None:
        from nolook.estimators.pipeline import PrivatePipeline

        k, seed = count_or_auto(select, "--select"), release.random_state
        seed = None if seed is None else seed + _OTHER_SEED
        first = release.selector(selector, columns, delta)(k=k, random_state=seed)
        share = {} if split is None else {"split": split}
        model = PrivatePipeline(first, model, **budget, **share)
    # Of a pipeline only the selection's k may be one that the table's columns do not allow.
    with option_names({} if select is None else {"k": "--select"}):
        release.fit(model, columns)
    release.keep(model)
    if not model.detected_:
        why, file = why_not_visible(model), str(release.output)
        said = words_of(model).phrase("not_visible", target=columns.target, why=why, file=file)
        raise TargetNotVisible(said)


def _parameters(method: str, make: Any, options: Mapping[str, str | None]) -> dict[str, Any]:  # noqa: ANN401
    """Translate the options of some methods; refuse one that is not of this method."""
    given: dict[str, Any] = {name: text for name, text in options.items() if text is not None}
    for name, text in given.items():
        if name not in signature(make).parameters:
            homes = [m for m in MODELS if name in signature(MODELS[m].load()).parameters]
            wanted = f"--method {' or '.join(homes)}, not {method}"
            raise refusal(name, text, wanted, f"or omit {parameter_name(name)}")
    if "k" in given:
        given["k"] = count_or_auto(given["k"], "-k")
    if "straight" in given:
        given["straight"] = list(column_names(given["straight"], "--straight"))
    if "monotone" in given:
        ways = (each.rpartition("=") for each in column_names(given["monotone"], "--monotone"))
        given["monotone"] = {name: way for name, _, way in ways}
    return given
