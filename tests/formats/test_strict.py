"""JSON is read strictly, and numbers bit for bit."""

from __future__ import annotations

import json
import math
import struct
from typing import Annotated

import numpy as np
import pytest
from msgspec import Meta

from nolook.formats.strict import Broken, Content, convert, read_object


class Inner(Content, frozen=True, omit_defaults=True):
    numbers: list[float]
    share: Annotated[float, Meta(gt=0, lt=1)] = 0.5

    def __post_init__(self):
        if self.numbers == [7.0]:
            raise Broken("expected other numbers")


class Outer(Content, frozen=True, omit_defaults=True):
    inner: Inner
    switch: bool = False


def read(folder, text):
    path = folder / "a.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_object(path)


def refusal(folder, text, kind=Outer):
    with pytest.raises(Broken) as caught:
        convert(read(folder, text), kind)
    assert caught.value.__cause__ is None
    return str(caught.value)


def bits(numbers):
    return np.array(numbers, dtype=np.float64).tobytes()


def doubles(count):
    """Finite doubles of random bits, a part of them subnormal, and those at the ends."""
    words = np.random.default_rng(0).integers(0, 2**64, count, dtype=np.uint64)
    words[::4] &= np.uint64(0x800F_FFFF_FFFF_FFFF)
    found = words.view(np.float64)
    ends = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072011e-308, 1e308, -1.7976931348623157e308]
    return [*ends, *found[np.isfinite(found)].tolist()]


def test_every_double_comes_back_bit_for_bit(tmp_path):
    numbers = doubles(100_000)
    assert sum(0 < abs(number) < 2.3e-308 for number in numbers) > 20_000
    found = convert(read(tmp_path, json.dumps({"inner": {"numbers": numbers}})), Outer)
    assert bits(found.inner.numbers) == bits(numbers)
    exact = convert(read(tmp_path, f'{{"inner": {{"numbers": [{math.pi:.60f}]}}}}'), Outer)
    assert struct.pack("d", exact.inner.numbers[0]) == struct.pack("d", math.pi)


@pytest.mark.parametrize("whole", [0, -3, 2**53 + 1, 10**300])
def test_a_whole_number_is_the_nearest_float(tmp_path, whole):
    (found,) = convert(
        read(tmp_path, f'{{"inner": {{"numbers": [{whole}]}}}}'), Outer
    ).inner.numbers
    assert type(found) is float
    assert found == float(whole)


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ('{"numbers": [1, "2"]}', "expected `float`, got `str` - at `$.inner.numbers[1]`"),
        ('{"numbers": [true]}', "expected `float`, got `bool`"),
        ('{"numbers": [null]}', "expected `float`, got `null`"),
        ('{"numbers": 1}', "expected `array`, got `int`"),
        ('{"numbers": [], "share": 1}', "< 1.0 - at `$.inner.share`"),
        ('{"numbers": [], "more": 1}', "unknown field `more`"),
        ('{"numbers": [], "\\ud800": 1}', "a key is not valid Unicode"),
        ("{}", "missing required field `numbers` - at `$.inner`"),
        ('{"numbers": [7]}', "expected other numbers - at `$.inner`"),
        ('{"numbers": [], "numbers": []}', "it holds a key twice"),
        ('{"numbers": [NaN]}', "not a finite double"),
        ('{"numbers": [1e999]}', "not a finite double"),
        ('{"numbers": [-1' + "0" * 400 + "]}", "not a finite double"),
        ('{"numbers": [1', "it is not JSON, perhaps cut short"),
        ('{"numbers": ' + "[" * 100_000, "it is not JSON, perhaps cut short"),
    ],
)
def test_what_is_not_as_stated_is_refused_with_its_place(tmp_path, inner, expected):
    assert expected in refusal(tmp_path, f'{{"inner": {inner}}}')


def test_a_whole_number_is_no_switch(tmp_path):
    text = '{"inner": {"numbers": []}, "switch": 0}'
    assert "expected `bool`, got `int`" in refusal(tmp_path, text)


def test_a_message_is_short_whatever_the_file_holds(tmp_path):
    text = json.dumps({"inner": {"numbers": []}, "x" * 10_000: 1})
    assert len(refusal(tmp_path, text)) < 400


@pytest.mark.parametrize("text", ["[]", "null", "3", '"a"'])
def test_what_is_no_object_reads_as_an_empty_one(tmp_path, text):
    assert read(tmp_path, text) == {}


def test_a_file_that_is_not_text_is_refused(tmp_path):
    for content, expected in ((b"\xff", "UTF-8"), (b"\xef\xbb\xbf{}", "JSON")):
        assert expected in refusal(tmp_path, content)
    with pytest.raises(Broken, match=r"^cannot read it \(it is not an ordinary file"):
        read_object(tmp_path)
    with pytest.raises(Broken, match="No such file"):
        read_object(tmp_path / "none")
    with pytest.raises(Broken, match=r"^cannot read it \(embedded null byte"):
        read_object(tmp_path / "a\0b")
