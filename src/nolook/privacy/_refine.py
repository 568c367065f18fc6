"""Decisions about real random numbers, made certain by as many of their bits as it takes.

Nothing here draws at random by itself: a `LazyUniform` gets its further bits from the function
it was built with. Every comparison is made between enclosures with outward rounding, so no
rounding decides it. The proof is in `noise.md`.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "LazyUniform",
    "accept_gaussian",
    "below_exponential",
    "class_winner",
    "floor_exponential",
    "gumbel_winner",
]

_WORD_BITS = 64
_MOST_BITS = 64 * _WORD_BITS
_INFINITY = Decimal("Infinity")


class LazyUniform:
    """A uniform real number U of [0, 1], of which the first binary digits are known.

    Parameters
    ----------
    word : int
        Its first 64 binary digits.
    draw : callable
        Returns 64 further digits, independent of everything drawn before.

    Attributes
    ----------
    value, bits : int
        What is known: value <= 2**bits U <= value + 1.
    """

    __slots__ = ("_draw", "bits", "value")

    def __init__(self, word: int, draw: Callable[[], int]) -> None:
        self.value = word
        self.bits = _WORD_BITS
        self._draw = draw

    def extend(self) -> None:
        """Learn 64 more binary digits.

        Raises
        ------
        RuntimeError
            After 4096 digits: with random digits the probability of needing as many is
            below 2**-1900, so the source of them is broken.
        """
        if self.bits >= _MOST_BITS:
            raise RuntimeError(
                f"the source of random bytes is broken: {_MOST_BITS} bits decided nothing"
                " (check the operating system's entropy)"
            )
        self.value = self.value << _WORD_BITS | self._draw()
        self.bits += _WORD_BITS

    def bounds(self) -> tuple[Fraction, Fraction]:
        """Return the ends of the interval U is known to lie in."""
        unit = 1 << self.bits
        return Fraction(self.value, unit), Fraction(self.value + 1, unit)


def floor_exponential(uniform: LazyUniform, scale: Fraction) -> int:
    """Return floor(-scale ln U), a geometric number.

    Parameters
    ----------
    uniform : LazyUniform
        U; it is extended until the answer is certain.
    scale : Fraction
        Above 0.

    Returns
    -------
    int
        The number, at least 0.
    """
    while True:
        down, up = _contexts(uniform.bits)
        low, high = _exponential_bounds(uniform, down, up)
        if high != _INFINITY:
            numerator, denominator = Decimal(scale.numerator), Decimal(scale.denominator)
            least = int(down.divide(down.multiply(low, numerator), denominator))
            if least == int(up.divide(up.multiply(high, numerator), denominator)):
                return least
        uniform.extend()


def below_exponential(
    uniform: LazyUniform,
    exponent: Callable[[], tuple[Fraction, Fraction]],
    *others: LazyUniform,
) -> bool:
    """Return whether U < exp(-c), an event of probability exp(-c).

    Parameters
    ----------
    uniform : LazyUniform
        U; it is extended until the answer is certain.
    exponent : callable
        Returns an enclosure of c >= 0 from what is known of `others`.
    *others : LazyUniform
        The numbers c depends on, independent of U; they are extended along with it.

    Returns
    -------
    bool
        The answer.
    """
    while True:
        down, up = _contexts(uniform.bits)
        least, most = exponent()
        low = down.next_minus(down.exp(_decimal(most, up).copy_negate()))
        high = up.next_plus(up.exp(_decimal(least, down).copy_negate()))
        smallest, largest = (
            _decimal(bound, context)
            for bound, context in zip(uniform.bounds(), (down, up), strict=True)
        )
        if largest <= low:
            return True
        if smallest >= high:
            return False
        uniform.extend()
        for other in others:
            other.extend()


def accept_gaussian(
    uniform: LazyUniform, whole: int, rest: int, ratio: Fraction, draw: Callable[[], int]
) -> bool:
    """Decide whether a proposal whole + F for half a normal distribution is kept.

    Parameters
    ----------
    uniform : LazyUniform
        The number that decides.
    whole, rest : int
        The proposal's integer part, and the first 64 binary digits of its fraction F.
    ratio : Fraction
        The standard deviation in the proposal's unit.
    draw : callable
        Returns 64 further digits of F.

    Returns
    -------
    bool
        Whether `uniform` is below exp(-((whole + F) / ratio - 1)^2 / 2 - F / ratio).
    """
    fraction = LazyUniform(rest, draw)

    def exponent() -> tuple[Fraction, Fraction]:
        # The same exponent in a form that plainly increases with F.
        low, high = (
            (whole + end) ** 2 / (2 * ratio**2) - whole / ratio + Fraction(1, 2)
            for end in fraction.bounds()
        )
        return low, high

    return below_exponential(uniform, exponent, fraction)


def gumbel_winner(gaps: Sequence[Fraction], uniforms: Sequence[LazyUniform]) -> int:
    """Return the position i of the largest -gap_i - ln(-ln U_i).

    Parameters
    ----------
    gaps : sequence of Fraction
        How far each candidate's score lies below the best one, in units of the noise's scale.
    uniforms : sequence of LazyUniform
        U_i; they are extended until the answer is certain.

    Returns
    -------
    int
        A position of the two sequences.
    """
    return _last_standing(lambda i: _gumbel_bounds(gaps[i], uniforms[i]), uniforms)


def class_winner(
    gaps: Sequence[Fraction], sizes: Sequence[int], uniforms: Sequence[LazyUniform]
) -> int:
    """Return the position i of the largest -gap_i - ln(1 - U_i^(1/size_i)).

    Parameters
    ----------
    gaps : sequence of Fraction
        How far each candidate's score lies below the best one.
    sizes : sequence of int
        At least 1 and of any size.
    uniforms : sequence of LazyUniform
        U_i; they are extended until the answer is certain.

    Returns
    -------
    int
        A position of the sequences.
    """
    return _last_standing(lambda i: _class_bounds(gaps[i], sizes[i], uniforms[i]), uniforms)


def _last_standing(
    enclose: Callable[[int], tuple[Decimal, Decimal]], uniforms: Sequence[LazyUniform]
) -> int:
    """Return the position whose value is largest, extending its uniform numbers until certain."""
    standing = list(range(len(uniforms)))
    while True:
        bounds = [enclose(i) for i in standing]
        best = max(low for low, _ in bounds)
        standing = [i for i, (_, high) in zip(standing, bounds, strict=True) if high >= best]
        if len(standing) == 1:
            return standing[0]
        for i in standing:
            uniforms[i].extend()


def _contexts(bits: int) -> tuple[Context, Context]:
    """Return contexts rounding down and up, with digits to spare for numbers of `bits` bits."""
    digits = bits // 3 + 20
    return (
        Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX),
        Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX),
    )


def _decimal(number: Fraction, context: Context) -> Decimal:
    """Return a fraction as a decimal, rounded in the context's direction."""
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _log_bounds(low: Decimal, high: Decimal, down: Context, up: Context) -> tuple[Decimal, Decimal]:
    """Enclose the logarithms of the numbers between two positive ones.

    `decimal` rounds a logarithm correctly to nearest whatever the context's direction, so one
    step outwards encloses it.
    """
    return down.next_minus(down.ln(low)), up.next_plus(up.ln(high))


def _exponential_bounds(
    uniform: LazyUniform, down: Context, up: Context
) -> tuple[Decimal, Decimal]:
    """Enclose -ln U, a standard exponential number."""
    smallest, largest = uniform.bounds()
    if smallest == 0:
        _, most = _log_bounds(_decimal(largest, down), _decimal(largest, up), down, up)
        return most.copy_negate(), _INFINITY
    least, most = _log_bounds(_decimal(smallest, down), _decimal(largest, up), down, up)
    return max(Decimal(0), most.copy_negate()), least.copy_negate()


def _gumbel_bounds(gap: Fraction, uniform: LazyUniform) -> tuple[Decimal, Decimal]:
    """Enclose -gap - ln(-ln U); an end not known yet is infinite."""
    down, up = _contexts(uniform.bits)
    low, high = _exponential_bounds(uniform, down, up)
    # The logarithm of infinity is infinity and that of 0 is minus infinity.
    least, most = _log_bounds(low, high, down, up)
    return (
        down.subtract(most.copy_negate(), _decimal(gap, up)),
        up.subtract(least.copy_negate(), _decimal(gap, down)),
    )


def _class_bounds(gap: Fraction, size: int, uniform: LazyUniform) -> tuple[Decimal, Decimal]:
    """Enclose -gap - ln(1 - U^(1/size)); the upper end is infinite while U could be 1."""
    down, up = _contexts(uniform.bits)
    low, high = (
        context.divide(end, Decimal(size))
        for end, context in zip(_exponential_bounds(uniform, down, up), (down, up), strict=True)
    )
    least, most = _log_bounds(
        _complement(low, down, up)[0], _complement(high, down, up)[1], down, up
    )
    return (
        down.subtract(most.copy_negate(), _decimal(gap, up)),
        up.subtract(least.copy_negate(), _decimal(gap, down)),
    )


def _complement(exponent: Decimal, down: Context, up: Context) -> tuple[Decimal, Decimal]:
    """Enclose 1 - exp(-exponent), keeping its digits however small it is."""
    if exponent == _INFINITY:
        return Decimal(1), Decimal(1)
    if exponent == 0:
        return Decimal(0), Decimal(0)
    fine_down, fine_up = down.copy(), up.copy()
    fine_down.prec = fine_up.prec = down.prec + max(0, -exponent.adjusted())
    power = fine_down.exp(exponent.copy_negate())
    low = down.subtract(Decimal(1), fine_up.next_plus(power))
    high = up.subtract(Decimal(1), fine_down.next_minus(power))
    return max(Decimal(0), low), high
