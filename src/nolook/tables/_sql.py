"""Queries that choose columns and rows of one table, read by a parser and written anew.

What is not known is refused: the functions below that write a condition are the whole list of what
one may hold. The text that was given is never sent.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

import pyarrow.types as pt

from nolook._language import named
from nolook.errors import ParameterError

_LONGEST = 10_000  # characters
_MOST_JOINED = 500
_EXPECTED = (
    "expected SELECT columns FROM one table or view WHERE conditions on single rows (make a view "
    "of anything else: whoever makes it decides what a row is, and answers for it)"
)
_WORDS = {
    "joins": "a join",
    "laterals": "a join",
    "group": "GROUP BY",
    "having": "HAVING",
    "distinct": "DISTINCT",
    "limit": "LIMIT or FETCH",
    "offset": "OFFSET",
    "order": "ORDER BY",
    "sort": "SORT BY",
    "sample": "a sample",
    "with_": "WITH",
    "locks": "a lock (FOR UPDATE)",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "into": "INTO",
    "only": "ONLY",
    "hint": "a hint",
    "pivots": "PIVOT",
    "kind": "a kind of rows",
    "catalog": "a name of three parts",
    "query": "a subquery",
}
_COMPARISONS = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_NUMBER = re.compile(r"\d{1,40}(\.\d{0,40})?([eE][+-]?\d{1,3})?")
_WHOLE = re.compile(r"\d+")


class Name(NamedTuple):
    """An identifier as it was written."""

    text: str
    quoted: bool


class Query(NamedTuple):
    """What a query asks for."""

    schema: Name | None
    table: Name
    columns: tuple[Name, ...] | None  # None for all
    condition: Any  # an expression of the parser's; None for all rows


class Written(NamedTuple):
    """A column as a condition may name it: how it is read in SQL, and the type it then has."""

    sql: str
    type: Any  # a pyarrow.DataType; None if it is neither numbers nor texts


def quoted(name: str) -> str:
    """Return a name as an identifier of SQL, whatever letters it holds."""
    return '"' + name.replace('"', '""') + '"'


def parse_query(text: str, dialect: str) -> Query:
    """Read a query in a dialect of SQL, and refuse whatever does more than choose."""
    import sqlglot

    if len(text) > _LONGEST or "\0" in text:
        _refuse("more than can be read")
    try:
        tokens = sqlglot.tokenize(text, dialect=dialect)
        # What begins otherwise the parser may take for a command, and say so in a log.
        statements = sqlglot.parse(text, dialect=dialect) if _begins(tokens) else []
    except (sqlglot.errors.SqlglotError, RecursionError):
        _refuse("what no parser understands")
    if any(token.comments for token in tokens):
        _refuse("a comment")
    if len(statements) != 1:
        _refuse("two statements" if statements else "no SELECT at its beginning")
    return _chosen(statements[0])


def _begins(tokens: list[Any]) -> bool:
    return bool(tokens) and tokens[0].text.upper() in {"SELECT", "WITH"}


def _chosen(select: Any) -> Query:  # noqa: ANN401 -- the parser's
    if type(select).__name__ != "Select":
        _refuse("more than one SELECT")
    _check_only(select, "expressions", "from_", "where")
    if select.args.get("from_") is None:
        _refuse("no FROM")
    table = select.args["from_"].this
    if type(table).__name__ != "Table" or type(table.this).__name__ != "Identifier":
        _refuse("something else than a table or view after FROM")
    _check_only(table, "this", "db", "alias")
    alias = table.args.get("alias")
    if alias is not None:
        _check_only(alias, "this")
    known = {_name(each).text.lower() for each in (table.this, alias and alias.this) if each}
    condition = select.args.get("where")
    for column in _columns_of(select):
        _check_only(column, "this", "table")
        of = column.args.get("table")
        if of is not None and _name(of).text.lower() not in known:
            _refuse("a column of another table")
    schema = table.args.get("db")
    return Query(
        None if schema is None else _name(schema),
        _name(table.this),
        _columns(select.expressions),
        None if condition is None else condition.this,
    )


def _columns_of(select: Any) -> Any:  # noqa: ANN401
    from sqlglot import expressions

    return select.find_all(expressions.Column)


def _columns(chosen: list[Any]) -> tuple[Name, ...] | None:
    """Return the columns that are chosen."""
    kinds = [type(each).__name__ for each in chosen]
    if kinds == ["Star"]:
        _check_only(chosen[0])
        return None
    for kind, each in zip(kinds, chosen, strict=True):
        if kind != "Column" or type(each.this).__name__ != "Identifier":
            _refuse(f"{_in_words(each)} among its columns")
    return tuple(_name(each.this) for each in chosen)


def _name(identifier: Any) -> Name:  # noqa: ANN401
    if type(identifier).__name__ != "Identifier":
        _refuse("a name of too many parts")
    return Name(identifier.this, bool(identifier.args.get("quoted")))


def _check_only(node: Any, *known: str) -> None:  # noqa: ANN401
    """Refuse a part of the query that has parts beside the known ones."""
    for name, value in node.args.items():
        if value and name not in known:
            _refuse(_WORDS.get(name, f"more than can be read ({name.strip('_')})"))


def condition_in(condition: Any, find: Callable[[Name], Written]) -> str:  # noqa: ANN401
    """Write a condition anew. `find` gives its columns, and refuses those that there are not."""
    try:
        return _Writer(find).condition(condition)
    except RecursionError:
        _refuse("a condition of too many parts")


class _Writer:
    """Writes the conditions it knows, in brackets, and refuses all others."""

    def __init__(self, find: Callable[[Name], Written]) -> None:
        self._find = find
        self._known: Mapping[str, Callable[[Any], str]] = {
            "Paren": lambda node: self.condition(node.this),
            "And": lambda node: self._joined(node, "AND"),
            "Or": lambda node: self._joined(node, "OR"),
            "Not": lambda node: f"(NOT {self.condition(node.this)})",
            "In": self._in,
            "Between": self._between,
            "Like": self._like,
            "Is": self._is_null,
            "Column": self._boolean,
            **dict.fromkeys(_COMPARISONS, self._comparison),
        }

    def condition(self, node: Any) -> str:  # noqa: ANN401
        """Return a condition in SQL."""
        write = self._known.get(type(node).__name__)
        if write is None:
            _refuse(f"{_in_words(node)} in its condition")
        # Parsers say NOT LIKE and IS NOT NULL in this way or by a NOT around.
        return f"(NOT {write(node)})" if node.args.get("negate") else write(node)

    def _joined(self, node: Any, word: str) -> str:  # noqa: ANN401
        """Write a chain side by side: databases refuse brackets in very many brackets."""
        sides, kind = [], type(node)
        while type(node) is kind:
            _check_only(node, "this", "expression")
            sides.append(node.expression)
            node = node.this
        if len(sides) >= _MOST_JOINED:
            _refuse("a condition of too many parts")
        return f"({f' {word} '.join(map(self.condition, (node, *reversed(sides))))})"

    def _comparison(self, node: Any) -> str:  # noqa: ANN401
        _check_only(node, "this", "expression")
        sign = _COMPARISONS[type(node).__name__]
        columns = [side for side in (node.this, node.expression) if _is_column(side)]
        if not columns:
            _refuse(f"{_in_words(node.this)} compared with no column in its condition")
        found = [self._column(side) for side in columns]
        if len(found) == 2 and (found[0].type != found[1].type or found[0].type is None):
            _refuse("columns of different types that are compared in its condition")
        sides = (
            self._column(side).sql if _is_column(side) else _constant(side, found[0].type)
            for side in (node.this, node.expression)
        )
        return f"({f' {sign} '.join(sides)})"

    def _in(self, node: Any) -> str:  # noqa: ANN401
        _check_only(node, "this", "expressions", "negate")
        column = self._column(node.this)
        values = ", ".join(_constant(value, column.type) for value in node.expressions)
        if not values:
            _refuse("an empty list in its condition")
        return f"({column.sql} IN ({values}))"

    def _between(self, node: Any) -> str:  # noqa: ANN401
        _check_only(node, "this", "low", "high", "negate")
        column = self._column(node.this)
        low, high = (_constant(node.args[end], column.type) for end in ("low", "high"))
        return f"({column.sql} BETWEEN {low} AND {high})"

    def _like(self, node: Any) -> str:  # noqa: ANN401
        _check_only(node, "this", "expression", "negate")
        column = self._column(node.this)
        if column.type is None or not _is_text(column.type):
            _refuse("LIKE for a column that is no text in its condition")
        return f"({column.sql} LIKE {_constant(node.expression, column.type)})"

    def _is_null(self, node: Any) -> str:  # noqa: ANN401
        _check_only(node, "this", "expression", "negate")
        if type(node.expression).__name__ != "Null":
            _refuse("IS with anything but NULL in its condition")
        return f"({self._column(node.this).sql} IS NULL)"

    def _boolean(self, node: Any) -> str:  # noqa: ANN401
        column = self._column(node)
        if column.type is None or not pt.is_boolean(column.type):
            _refuse("a column that is no boolean as its condition")
        return f"({column.sql})"

    def _column(self, node: Any) -> Written:  # noqa: ANN401
        if not _is_column(node):
            _refuse(f"{_in_words(node)} in place of a column in its condition")
        return self._find(_name(node.this))


def _is_column(node: Any) -> bool:  # noqa: ANN401
    return type(node).__name__ == "Column"


def _is_text(kind: Any) -> bool:  # noqa: ANN401
    return bool(pt.is_string(kind) or pt.is_large_string(kind))


def _constant(node: Any, kind: Any) -> str:  # noqa: ANN401
    """Return a constant that a column of a type can be compared with and nothing can go wrong."""
    name = type(node).__name__
    if kind is None:
        _refuse("a column that is neither numbers nor texts in its condition")
    if name == "Null":
        _refuse("a comparison with NULL, which is true of no row (IS NULL tells),")
    if pt.is_boolean(kind) and name == "Boolean":
        return "TRUE" if node.this else "FALSE"
    if pt.is_date(kind) or pt.is_timestamp(kind):
        return _moment(node, kind)
    if name == "Literal" and node.is_string and _is_text(kind):
        return _words(node.this)
    numeric = pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind)
    sign, number = ("-", node.this) if name == "Neg" else ("", node)
    if numeric and type(number).__name__ == "Literal" and not number.is_string:
        return sign + _digits(number.this, kind)
    return _refuse(f"{_in_words(node)} beside a column of another type in its condition")


def _words(text: str) -> str:
    """Return a text in quotes."""
    if "\\" in text:
        _refuse("a backslash, which databases read in different ways, in its condition")
    return "'" + text.replace("'", "''") + "'"


def _digits(text: str, kind: Any) -> str:  # noqa: ANN401
    """Return a number as a double, but for integers: decimals may be too long to be compared."""
    mantissa = text.lower().partition("e")[0]
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        _refuse("a number that no double is near in its condition")
    if float(text) == 0.0 and mantissa.strip("0."):
        _refuse("a number that is not 0 but nearer to it than any double in its condition")
    if pt.is_integer(kind) and _WHOLE.fullmatch(text) and int(text) < 2**63:
        return text
    return text if "e" in text.lower() else f"{text}e0"


def _moment(node: Any, kind: Any) -> str:  # noqa: ANN401
    """Return a date or time, written out: words like 'today' would ask the server."""
    literal = node.this if type(node).__name__ == "Cast" else node
    try:
        if type(literal).__name__ == "Literal" and literal.is_string:
            if pt.is_date(kind):
                return f"DATE '{dt.date.fromisoformat(literal.this)}'"
            moment = dt.datetime.fromisoformat(literal.this)
            if moment.tzinfo is None:
                return f"TIMESTAMP '{moment}'"
    except ValueError:
        pass
    example = "'2024-12-31'" if pt.is_date(kind) else "'2024-12-31 23:59:59'"
    return _refuse(f"a date that is not written as {example} in its condition")


def _in_words(node: Any) -> str:  # noqa: ANN401
    """Return what to call a part of a query that is refused."""
    from sqlglot import expressions

    kinds = (
        (expressions.Window, "a window function"),
        (expressions.AggFunc, "an aggregate"),
        (expressions.Query, "a subquery"),
        (expressions.Cast, "a cast"),
        (expressions.Connector, "a condition"),
        (expressions.Literal, "a constant"),
        (expressions.Column, "a column"),
        (expressions.Func, "a function"),
        (expressions.Alias, "a new name (AS)"),
        (expressions.Star, "*"),
        (expressions.Placeholder, "a placeholder"),
        (expressions.Binary, "arithmetic or another operator"),
    )
    found = (words for kind, words in kinds if isinstance(node, kind))
    return next(found, f"more than can be read ({type(node).__name__})")


def _refuse(found: str) -> NoReturn:
    raise ParameterError(f"{named('query')} has {found}; {_EXPECTED}")
