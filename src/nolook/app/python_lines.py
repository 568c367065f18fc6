"""The lines of Python equivalent to a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nolook.app.questions import QUESTIONS, Field
from nolook.app.session import Session
from nolook.estimators.catalogue import (
    MODELS,
    SELECTORS,
    method_for,
    selector_for,
)
from nolook.privacy.guarantee import DEFAULT_DELTA
from nolook.tables.filter import read_condition

__all__ = ["python_lines"]

#: Options of the table, not of the release.
_OF_TABLE = ("missing", "where", "rows_per_unit")
#: Commands whose releases are estimators.
_CLASSES = {"ecdf": "ECDF", "roc": "ROCCurve", "calibration": "HosmerLemeshow"}


def python_lines(command: str, fields: Sequence[Field], session: Session, output: str) -> str:
    """Return the lines that make a release: read the table, charge the ledger, write the files."""
    given = {each.name: _value(each) for each in fields if each.arguments()}
    given.pop("rows", None)
    read = {name: given.pop(name) for name in _OF_TABLE if name in given}
    of_all = command in {"fit", "describe"}
    target = given.pop("target", None if of_all else False)
    if "features" in given:
        read["features"] = given.pop("features")
    elif not of_all:
        named = [name for key in QUESTIONS[command].first for name in _names(given.get(key, []))]
        read["features"] = [*dict.fromkeys(named)]
    columns = session.schema.columns if session.schema else {}
    classes = target in columns and columns[target].type == "boolean"
    number = len(read.get("features") or columns)
    file = session.folder / output
    table = f"{session.source}, {target!r}, {_keywords(read)}schema={str(session.schema_file)!r}"
    return (
        f"table = nolook.read_table({table})\n"
        f"with nolook.Ledger({str(session.ledger)!r}, output={f'{output}.json'!r}) as ledger:\n"
        f"    found = {_call(command, given, classes=classes, columns=number)}\n"
        f"nolook.save(found, {f'{file}.json'!r})\n"
        f"found.report({f'{file}.html'!r})\n"
    )


def _call(command: str, given: dict[str, Any], **about: Any) -> str:  # noqa: ANN401
    """Return the expression that makes a release of `table`."""
    if command == "fit":
        return f"{_model(given, **about)}.fit(table, ledger=ledger)"
    tables = f", {given.pop('by', [])!r}" if command == "tabulate" else ""
    for name in ("column", "score", "probability", "columns"):
        given.pop(name, None)
    if command in _CLASSES:
        made = f"nolook.{_CLASSES[command]}({_keywords(given)[:-2]})"
        return f"{made}.fit(table, ledger=ledger)"
    if "at" in given:
        given["p"] = given.pop("at")
    return f"nolook.{command.replace('-', '_')}(table{tables}, {_keywords(given)}ledger=ledger)"


def _model(given: dict[str, Any], *, classes: bool, columns: int) -> str:
    """Return the expression for a model, perhaps of columns that are chosen first."""
    method = method_for(given.pop("method", "auto"), has_classes=lambda: classes)
    select = given.pop("select", None)
    budget = _keywords(given)[:-2]
    model = f"nolook.{MODELS[method].kind}({budget})"
    if select is None:
        return model
    kind = SELECTORS[selector_for(columns, given.get("delta", DEFAULT_DELTA))].kind
    selector = f"nolook.{kind}(k={select!r})"
    return f"nolook.PrivatePipeline({selector}, {model}, {budget})"


def _keywords(given: Mapping[str, Any]) -> str:
    return "".join(f"{name}={value!r}, " for name, value in given.items())


def _names(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _value(field: Field) -> Any:  # noqa: ANN401 -- whatever the parameter takes
    """Return a field's value as one of Python."""
    if isinstance(field.value, list):
        return field.value
    texts = [each.partition("=")[2] for each in field.arguments()]
    if field.kind == "lines":
        return [read_condition(text) for text in texts]
    if field.name in {"at", "quantiles"}:
        return [float(text) for text in texts[0].split(",")]
    if field.kind == "float":
        return float(texts[0])
    return int(texts[0]) if texts[0].isdecimal() else texts[0]
