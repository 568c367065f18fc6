"""The paper's own numbers, as it prints them."""

from __future__ import annotations

__all__ = ["FIGURE_1", "METHODS", "ROWS"]

#: The columns of figure 1, and in each row the R2 they have.
METHODS = ("NonDP", "AdaSSP", "TukeyEM", "DPSGD (tuned)", "DPSGD (90% tuned)")
FIGURE_1 = {
    "synthetic": (0.997, 0.991, 0.997, 0.997, 0.997),
    "california": (0.637, -1.285, 0.099, 0.085, -1.03),
    "diamonds": (0.907, 0.216, 0.307, 0.828, 0.371),
    "traffic": (0.966, 0.944, 0.965, 0.938, 0.765),
    "nba": (0.621, 0.018, 0.618, 0.531, 0.344),
    "beijing": (0.702, 0.209, 0.698, 0.475, 0.302),
    "garbage": (0.542, 0.119, 0.534, 0.215, 0.152),
    "mlb": (0.722, 0.519, 0.721, 0.718, 0.712),
}
#: Rows of the tables (section 4.2).
ROWS = {
    "synthetic": 22_000, "california": 20_433, "diamonds": 53_940, "traffic": 7_909,
    "nba": 21_613, "beijing": 159_375, "garbage": 18_810, "mlb": 140_657,
}  # fmt: skip
