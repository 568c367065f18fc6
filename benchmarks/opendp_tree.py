"""Counts of cells by OpenDP's consistent b-ary tree; run by an interpreter that has OpenDP.

python opendp_tree.py CELLS.npz COUNTS.npz EPSILON RUNS FAN_OUTS
"""

from __future__ import annotations

import sys

import numpy as np
import opendp.prelude as dp


def tree_counts(cells, fan_out, epsilon, runs):
    """Return the counts up to each cell of several releases, for rows added or removed."""
    space = dp.vector_domain(dp.atom_domain(T=int), size=len(cells)), dp.l1_distance(T=int)
    tree = dp.t.make_b_ary_tree(*space, leaf_count=len(cells), branching_factor=fan_out)
    release = tree >> dp.m.then_laplace(scale=tree.map(1) / epsilon)
    if release.map(1) > epsilon * (1 + 1e-9):
        raise SystemExit(f"the release costs {release.map(1)}, not {epsilon}")
    consistent = dp.t.make_consistent_b_ary_tree(branching_factor=fan_out)
    exact = cells.tolist()
    return np.array([np.cumsum(consistent(release(exact))) for _ in range(runs)])


def main(path, output, epsilon, runs, fan_outs):
    """Release every array of a file with every fan-out."""
    dp.enable_features("contrib")
    found = {}
    with np.load(path) as every:
        for name in every.files:
            for fan_out in map(int, fan_outs.split(",")):
                counts = tree_counts(every[name], fan_out, float(epsilon), int(runs))
                found[f"{name}/{fan_out}"] = counts
    np.savez(output, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
