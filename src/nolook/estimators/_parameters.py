"""Parameters of estimators, declared once."""

from __future__ import annotations

from inspect import get_annotations
from typing import Annotated, Any, Literal, TypeAlias, dataclass_transform

from attrs import NOTHING, define, field, fields_dict
from msgspec import Meta
from sklearn.base import BaseEstimator

from nolook.estimators._docstrings import complete_docstring

#: What a number of a fit may be: files refuse any other.
AtLeast0: TypeAlias = Annotated[float, Meta(ge=0)]
AtLeast1: TypeAlias = Annotated[float, Meta(ge=1)]
AtMost1: TypeAlias = Annotated[float, Meta(le=1)]
Positive: TypeAlias = Annotated[float, Meta(gt=0)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]


def fitted(default: object = NOTHING, *, init: Literal[False] = False) -> Any:  # noqa: ANN401, ARG001
    """Declare an attribute of a fit, with what it is where a fit sets none; no parameter.

    A file has the attributes of a model that its class declares, of the types it says.
    """
    return default


@define(slots=False, eq=False, repr=False)
@dataclass_transform(eq_default=False, field_specifiers=(field, fitted))
class Declared(BaseEstimator):  # type: ignore[misc]
    """An estimator whose annotated names with a value are its parameters.

    Not those with an underscore at an end, which scikit-learn, too, takes for no parameters. From
    them and those of the bases, which come first, follows `__init__`, unless the class or the
    nearest base that has one wrote it out.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:  # noqa: ANN401 -- scikit-learn's own
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        parameters = {}
        for name, kind in get_annotations(cls).items():
            value = own.get(name, NOTHING)
            if value is NOTHING:  # a hint, or what only a fit sets
                if name in own:
                    delattr(cls, name)
            elif name[0] != "_" != name[-1] and "ClassVar" not in str(kind):
                made = isinstance(value, type(field()))
                parameters[name] = value if made else field(default=value)
        maker = next(each for each in cls.__mro__ if "__init__" in vars(each))
        if "__attrs_attrs__" in vars(maker):
            define(cls, these=parameters, slots=False, eq=False, repr=False)
            for name in parameters:  # for classes that write `__init__` out
                setattr(cls, name, fields_dict(cls)[name].default)
        # The base of all says what parameters mean that only some classes have.
        if cls.__doc__ and Declared not in cls.__bases__:
            cls.__doc__ = complete_docstring(cls, *cls.__bases__)
