"""The pictures of the selection benchmark, after figures 1 to 8 of Swope et al. (2024)."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np

mpl.use("agg")

from matplotlib import pyplot as plt

__all__ = ["draw"]

CURVES = ("christensen", "sorlie", "khan", "synthetic")
STYLE = {"savefig.dpi": 80, "font.size": 8, "axes.grid": True}


def curves(tables, methods, epsilons):
    """Draw the accuracy of methods on four tables at both k (figures 2 to 5)."""
    figure, axes = plt.subplots(2, len(CURVES), figsize=(11, 4.5), sharex=True, sharey=True)
    for column, name in zip(axes.T, CURVES, strict=True):
        for axis, (k, own) in zip(column, tables[name]["accuracy"].items(), strict=True):
            for label, method in methods.items():
                axis.plot(epsilons, own[method], marker=".", label=label)
            axis.set(title=f"{name}, k = {k}", xscale="log", ylim=(0, 1))
    for axis in axes[:, 0]:
        axis.set_ylabel("share of the true k")
    for axis in axes[-1]:
        axis.set_xlabel("epsilon")
    axes[0, 0].legend()
    return figure


def heat_map(names, differences, epsilons, title):
    """Draw ours less two-stage's, a row for each table (figures 6 and 7)."""
    figure, axis = plt.subplots(figsize=(6, 4))
    picture = axis.pcolormesh(differences[::-1], cmap="RdBu", vmin=-0.6, vmax=0.6)
    axis.set_xticks(np.arange(len(epsilons)) + 0.5, [f"{e:g}" for e in epsilons])
    axis.set_yticks(np.arange(len(names)) + 0.5, names[::-1])
    axis.set(xlabel="epsilon", title=f"ours less two-stage, {title}")
    axis.grid(visible=False)
    figure.colorbar(picture)
    return figure


def quality(results, epsilons):
    """Draw how often a selection is TOP, GREAT and GOOD (figure 8)."""
    figure, axes = plt.subplots(1, len(results), figsize=(8, 3), sharey=True, squeeze=False)
    for axis, (name, methods) in zip(axes[0], results.items(), strict=True):
        for line, rates in zip(("-", "--"), methods.values(), strict=True):
            for colour, (kind, own) in enumerate(rates.items()):
                axis.plot(epsilons, own, line, color=f"C{colour}", label=kind)
        axis.set(title=f"{name}, k = 10 (dashed: not private)", xscale="log", xlabel="epsilon")
    axes[0, 0].legend(axes[0, 0].lines[:3], [line.get_label() for line in axes[0, 0].lines[:3]])
    return figure


def stability(results):
    """Draw how often each feature is chosen (figure 1)."""
    figure, axes = plt.subplots(2, 2, figsize=(8, 4), sharex=True, sharey=True)
    for row, (kind, methods) in zip(axes, results.items(), strict=True):
        for axis, (method, counts) in zip(row, methods.items(), strict=True):
            axis.step(np.arange(1, len(counts) + 1), counts, where="mid")
            axis.set(title=f"{kind}, {method}, without noise", ylim=(0, 1000))
    for axis in axes[-1]:
        axis.set_xlabel("feature")
    return figure


def draw(folder, name, make, *arguments):
    """Make one figure and save it as ``selection_NAME.png``."""
    with mpl.rc_context(STYLE):
        figure = make(*arguments)
        figure.tight_layout()
        figure.savefig(folder / f"selection_{name}.png")
        plt.close(figure)
