"""``nolook fit``: a private linear model, perhaps of columns chosen privately."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nolook._validation import check_choice, check_delta, check_fraction
from nolook.cli._options import (
    CategoriesOption,
    DeltaOption,
    FeaturesOption,
    TargetOption,
    column_options,
    count_or_auto,
)
from nolook.cli._release import Release, release_command
from nolook.errors import ParameterError
from nolook.estimators.catalogue import (
    DEFAULT_SELECTOR,
    METHODS,
    SELECTORS,
    check_method,
    method_parameters,
)
from nolook.privacy.guarantee import DEFAULT_DELTA

__all__ = ["fit"]

# What only one method has, by flag.
_OWN = {option.flag: option for entry in METHODS.values() for option in entry.options}
# So that a seed gives the selection other noise than the regression.
_OTHER_SEED = 2**32


def _own(flag: str) -> Any:  # noqa: ANN401 -- Typer's own untyped class
    return typer.Option(flag, metavar=_OWN[flag].metavar, help=_OWN[flag].help)


@release_command("model.json", "The model file")
def fit(
    release: Release,
    *,
    target: TargetOption,
    delta: DeltaOption = DEFAULT_DELTA,
    features: FeaturesOption = None,
    categories: CategoriesOption = None,
    method: Annotated[
        str, typer.Option(metavar="|".join(("auto", *METHODS)), help="How to fit.")
    ] = "auto",
    bound_x: Annotated[float | None, _own("--bound-x")] = None,
    bound_y: Annotated[float | None, _own("--bound-y")] = None,
    on_failure: Annotated[str | None, _own("--on-failure")] = None,
    select: Annotated[
        str | None,
        typer.Option(metavar="K|auto", help="First choose this many columns, privately."),
    ] = None,
    selector: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(SELECTORS),
            help=f"How to choose them; {DEFAULT_SELECTOR} if not given.",
        ),
    ] = None,
    split: Annotated[
        float | None,
        typer.Option(metavar="S", help="Share of epsilon for choosing them; 0.2 if not given."),
    ] = None,
) -> None:
    """Fit a private linear model of a table and write it to a file."""
    budget = {"epsilon": release.epsilon, "delta": check_delta(delta, "--delta")}
    chosen = check_method(method, "--method")
    parameters = _method_parameters(chosen, bound_x, bound_y, on_failure)
    first = _selection(select, selector, split, release.random_state)
    options = column_options(features, categories)

    from nolook.estimators.pipeline import make_private_pipeline
    from nolook.formats.model_file import save
    from nolook.report.model_findings import model_findings

    make: Any = METHODS[chosen].load()
    model = make(**budget, random_state=release.random_state, **parameters)
    if first is not None:
        name, arguments, share = first
        model = make_private_pipeline(SELECTORS[name].load()(**arguments), model, **budget, **share)
    release.fit(model, target, options)
    save(model, release.output)
    release.show(model_findings(model))


def _method_parameters(
    method: str, bound_x: float | None, bound_y: float | None, on_failure: str | None
) -> dict[str, Any]:
    """Translate the options about the method into parameters of its estimator."""
    options = {"--bound-x": bound_x, "--bound-y": bound_y, "--on-failure": on_failure}
    parameters = method_parameters(method, options)
    if (bound_x is None) != (bound_y is None):
        missing = "--bound-x" if bound_x is None else "--bound-y"
        raise ParameterError(
            f"{missing} is not given, but the other bound is; expected both or neither "
            f"(for example {missing} 10)"
        )
    return parameters


def _selection(
    select: str | None, selector: str | None, split: float | None, random_state: int | None
) -> tuple[str, dict[str, Any], dict[str, float]] | None:
    """Translate the options about choosing columns: a selector, its parameters and its share."""
    if select is None:
        for option, value in (("--selector", selector), ("--split", split)):
            if value is not None:
                raise ParameterError(
                    f"{option} is given without --select; expected both (for example --select 5, "
                    f"or leave {option} out)"
                )
        return None
    name = check_choice("--selector", DEFAULT_SELECTOR if selector is None else selector, SELECTORS)
    seed = None if random_state is None else random_state + _OTHER_SEED
    arguments = {"k": count_or_auto(select, "--select"), "random_state": seed}
    share = {} if split is None else {"split": check_fraction(split, "--split")}
    return name, arguments, share
