"""Cost and guarantee of a release, as frozen data. No numeric library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, TypeAlias, get_args

from attrs import asdict, field, fields_dict, frozen

from nolook._defaults import DEFAULT_DELTA
from nolook._strength import guarantee_in_words
from nolook._unit import ROW, Unit
from nolook._validation import (
    check_choice,
    check_count,
    check_delta,
    check_epsilon,
    check_positive,
)
from nolook.errors import ParameterError

__all__ = [
    "DEFAULT_DELTA",
    "ApproximateEvent",
    "BoundedRangeEvent",
    "Budget",
    "DeltaEvent",
    "Event",
    "GaussianEvent",
    "PrivacyGuarantee",
    "PureEvent",
    "Relation",
]

#: Which tables are neighbours: one row added or removed, or one replaced by another.
Relation: TypeAlias = Literal["add-remove", "replace"]

_MOST_CHOICES = 2**20


def _delta_or_zero(delta: object) -> float:
    return check_delta(delta, allow_zero=True)


def _event_name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ParameterError("name is empty or not a string; expected a description of the release")
    return name


def _basis(sentences: object) -> tuple[str, ...]:
    found = tuple(sentences) if isinstance(sentences, list | tuple) else (None,)
    if not all(isinstance(one, str) and one.isprintable() for one in found):
        raise ParameterError("basis is not a list of sentences on one line each")
    return found


def _mu(value: object) -> float:
    return check_positive(value, "mu")


def _count_of_choices(value: object) -> int:
    return check_count(value, "choices", _MOST_CHOICES)


@frozen
class Budget:
    """An amount of privacy loss.

    Parameters
    ----------
    epsilon : float
        Finite and above 0.
    delta : float, default=0.0
        0, or between 0 and 1.

    Raises
    ------
    ParameterError
        If either is outside its range.

    Examples
    --------
    >>> Budget(1, 1e-6)
    Budget(epsilon=1.0, delta=1e-06)
    """

    epsilon: float = field(converter=check_epsilon)
    delta: float = field(default=0.0, converter=_delta_or_zero)

    def to_dict(self) -> dict[str, float]:
        """Return the two numbers by name."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the output of :meth:`to_dict`; other names or values are a ParameterError."""
        return cls(**_exact_fields(data, set(fields_dict(cls)), "budget"))


@frozen
class GaussianEvent:
    """A release with Gaussian noise: `mu`-GDP, standard deviation = L2 sensitivity / `mu`."""

    name: str = field(converter=_event_name)
    mu: float = field(converter=_mu)


@frozen
class PureEvent:
    """A release that is `epsilon`-differentially private: Laplace, permute-and-flip."""

    name: str = field(converter=_event_name)
    epsilon: float = field(converter=check_epsilon)


@frozen
class ApproximateEvent:
    """A release that is (`epsilon`, `delta`)-differentially private, with `delta` above 0."""

    name: str = field(converter=_event_name)
    epsilon: float = field(converter=check_epsilon)
    delta: float = field(converter=check_delta)


@frozen
class DeltaEvent:
    """A chance of at most `delta` of another release than one that costs its other events only.

    It must not depend on what that release would show.
    """

    name: str = field(converter=_event_name)
    delta: float = field(converter=check_delta)


@frozen
class BoundedRangeEvent:
    """`choices` by the exponential mechanism, one after the other.

    The privacy losses of any two results of one choice differ by at most `epsilon`.
    """

    name: str = field(converter=_event_name)
    epsilon: float = field(converter=check_epsilon)
    choices: int = field(converter=_count_of_choices)


#: What one release costs. Each kind is a frozen class: what was released, and the numbers its
#: docstring speaks of. A new one needs a name in `_KINDS` and rules in `accounting.py`, which
#: refuses what it does not know.
Event: TypeAlias = GaussianEvent | PureEvent | ApproximateEvent | DeltaEvent | BoundedRangeEvent

# Names in files. A kind that is not here is refused, never guessed.
_KINDS: dict[str, type[Event]] = {
    "gaussian": GaussianEvent,
    "pure": PureEvent,
    "approximate": ApproximateEvent,
    "delta": DeltaEvent,
    "bounded-range": BoundedRangeEvent,
}


@frozen
class PrivacyGuarantee:
    """The guarantee of a result, and the releases that it covers.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee for the whole result.
    relation : {"add-remove", "replace"}
        Which tables are neighbours.
    mechanisms : tuple of Event
        Everything that was released, with its cost.
    private : bool
        False if there is no guarantee, for example if the noise came from a known seed.
    unit : Unit
        What is protected: by default one row.
    table, where : str, optional
        The table, by its name without folders, and the conditions on its rows.
    basis : tuple of str
        Who computed the result, and assumptions of the guarantee, if these are more than one
        trusted data owner.

    Raises
    ------
    ParameterError
        If a value is outside its range.
    """

    epsilon: float = field(converter=check_epsilon)
    delta: float = field(converter=_delta_or_zero)
    relation: Relation
    mechanisms: tuple[Event, ...]
    private: bool
    unit: Unit = ROW
    table: str | None = field(default=None, eq=False)
    where: str | None = field(default=None, eq=False)
    basis: tuple[str, ...] = field(default=(), eq=False, converter=_basis)

    def __attrs_post_init__(self) -> None:
        for name, text in (("table", self.table), ("where", self.where)):
            if not isinstance(text, str | None):
                raise ParameterError(
                    f"{name} is a value of type {type(text).__name__}; expected a string or None"
                )
        check_choice("relation", self.relation, get_args(Relation))
        known = tuple(_KINDS.values())
        events: object = self.mechanisms
        if not isinstance(events, tuple) or not all(isinstance(event, known) for event in events):
            raise ParameterError(
                f"mechanisms is a value of type {type(events).__name__}; expected a tuple of events"
            )
        unit: object = self.unit
        if not isinstance(unit, Unit):
            raise ParameterError(
                f"unit is a value of type {type(unit).__name__}; expected a Unit (leave it out for "
                "a row)"
            )
        private: object = self.private
        if not isinstance(private, bool):
            raise ParameterError(
                f"private is a value of type {type(private).__name__}; expected True or False"
            )

    @property
    def budget(self) -> Budget:
        """The promised epsilon and delta."""
        return Budget(self.epsilon, self.delta)

    @property
    def of_table(self) -> str:
        """The name of the table and which of its rows, as far as they are known."""
        rows = self.where and f"rows where {self.where}"
        return ", ".join(filter(None, (self.table, rows)))

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as plain data, fit for JSON."""
        kinds = {kind: name for name, kind in _KINDS.items()}
        plain = asdict(self, recurse=False)
        plain["mechanisms"] = [
            {"mechanism": kinds[type(event)], **asdict(event)} for event in self.mechanisms
        ]
        plain["unit"] = asdict(self.unit)
        plain["basis"] = list(self.basis)
        if not self.basis:
            del plain["basis"]
        return plain

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the output of :meth:`to_dict`; other names or values are a ParameterError."""
        given = {"basis": [], **data} if isinstance(data, Mapping) else data
        plain = _exact_fields(given, set(fields_dict(cls)), "guarantee")
        if not isinstance(plain["mechanisms"], list):
            raise ParameterError("mechanisms is not a list; expected a list of events")
        plain["mechanisms"] = tuple(_event(entry) for entry in plain["mechanisms"])
        plain["unit"] = Unit.from_plain(plain["unit"])
        return cls(**plain)

    def in_words(self) -> str:
        """Explain the guarantee in a few plain sentences on one line."""
        if not self.private:
            return (
                "NOT PRIVATE: nothing is promised. The noise came from a known seed, so anyone can "
                "remove it, or a setting was chosen that has no proof for rows. For experiments "
                "on public data only."
            )
        words = guarantee_in_words(self.epsilon, self.delta, self.relation, self.unit)
        return " ".join((words, *self.basis))


def _exact_fields(data: object, names: set[str], what: str) -> dict[str, Any]:
    if not isinstance(data, Mapping) or set(data) != names:
        raise ParameterError(
            f"{what} has missing or unknown entries; expected {', '.join(sorted(names))}"
        )
    return dict(data)


def _event(entry: object) -> Event:
    if not isinstance(entry, Mapping) or entry.get("mechanism") not in list(_KINDS):
        raise ParameterError(f"mechanism is unknown; expected one of {', '.join(_KINDS)}")
    kind = _KINDS[entry["mechanism"]]
    rest = {name: value for name, value in entry.items() if name != "mechanism"}
    return kind(**_exact_fields(rest, set(fields_dict(kind)), "mechanism"))
