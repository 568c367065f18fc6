"""Messages name parameters as Python does, or as the options of the command that runs."""

from __future__ import annotations

import shlex
from concurrent.futures import ThreadPoolExecutor

import pytest

from nolook._language import is_settable, option_names, parameter_name, usage_hint
from nolook._validation import check_names, check_positive
from nolook.errors import ParameterError

OPTIONS = {
    "features": "--features",
    "categories": "--categories",
    "k": "-k",
    "missing": "--missing",
}


def test_python_keeps_its_own_words():
    assert parameter_name("features") == "features"
    assert usage_hint("missing", "drop-row") == "missing='drop-row'"
    assert usage_hint("features", ["a", "b"]) == "features=['a', 'b']"
    assert usage_hint("schema", "FILE", "schema=Schema()") == "schema=Schema()"
    assert is_settable("anything")


@pytest.mark.parametrize(
    ("parameter", "value", "words"),
    [
        ("missing", "drop-row", ["--missing", "drop-row"]),
        ("features", ["age", "net income"], ["--features", "age,net income"]),
        ("features", ["a,b", 'c"d'], ["--features", '"a,b","c""d"']),
        ("categories", {"city": ["A", "B"]}, ["--categories", "city=A,B"]),
        ("replace", True, ["--replace"]),
        ("k", 5, ["-k", "5"]),
    ],
)
def test_a_command_line_can_be_typed_as_it_is_shown(parameter, value, words):
    with option_names(OPTIONS | {"replace": "--replace"}):
        assert shlex.split(usage_hint(parameter, value)) == words
    assert parameter_name(parameter) == parameter


def test_checks_speak_the_language_of_their_caller():
    with option_names(OPTIONS), pytest.raises(ParameterError, match=r"-k is 0; .*example -k 1\.0"):
        check_positive(0, "k")
    with (
        option_names(OPTIONS),
        pytest.raises(ParameterError, match="example --features age,height"),
    ):
        check_names([], "features")
    with pytest.raises(ParameterError, match=r"k is 0; .*example k=1\.0"):
        check_positive(0, "k")
    with option_names(OPTIONS):
        assert not is_settable("schema")


def _fail_elsewhere():
    with option_names(OPTIONS), ThreadPoolExecutor(1) as others:
        raise ValueError(others.submit(parameter_name, "k").result())


def test_another_thread_and_what_follows_an_error_speak_python():
    with pytest.raises(ValueError, match=r"^k$"):
        _fail_elsewhere()
    assert parameter_name("k") == "k"
