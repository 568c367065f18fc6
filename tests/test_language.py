"""Messages name parameters as Python does, or as the options of the command that runs."""

from __future__ import annotations

import shlex
from concurrent.futures import ThreadPoolExecutor

import pytest

from nolook._language import given, named, offered, speaking
from nolook._validation import check_names, check_positive
from nolook.errors import ParameterError

OPTIONS = {
    "features": "--features",
    "categories": "--categories",
    "k": "-k",
    "missing": "--missing",
}


def test_python_keeps_its_own_words():
    assert named("features") == "features"
    assert given("missing", "drop-row") == "missing='drop-row'"
    assert given("features", ["a", "b"]) == "features=['a', 'b']"
    assert given("schema", "FILE", "schema=Schema()") == "schema=Schema()"
    assert offered("anything")


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
    with speaking(OPTIONS | {"replace": "--replace"}):
        assert shlex.split(given(parameter, value)) == words
    assert named(parameter) == parameter


def test_checks_speak_the_language_of_their_caller():
    with speaking(OPTIONS), pytest.raises(ParameterError, match=r"-k is 0; .*example -k 1\.0"):
        check_positive(0, "k")
    with speaking(OPTIONS), pytest.raises(ParameterError, match="example --features age,height"):
        check_names([], "features")
    with pytest.raises(ParameterError, match=r"k is 0; .*example k=1\.0"):
        check_positive(0, "k")
    with speaking(OPTIONS):
        assert not offered("schema")


def _fail_elsewhere():
    with speaking(OPTIONS), ThreadPoolExecutor(1) as others:
        raise ValueError(others.submit(named, "k").result())


def test_another_thread_and_what_follows_an_error_speak_python():
    with pytest.raises(ValueError, match=r"^k$"):
        _fail_elsewhere()
    assert named("k") == "k"
