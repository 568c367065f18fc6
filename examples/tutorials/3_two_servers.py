"""
Rows that never leave their owners: two servers
===============================================

A bank's customers each hold a score, how likely they are to open a deposit, and whether they did.
The ROC curve of all of them is to be published, and nobody may collect the rows. Each customer
splits a report in two and sends one half to each of two servers. Neither half reveals anything;
each server adds noise of its own. As long as one of the two is honest, the result is private.

Everything runs on this machine here. :doc:`/federated` says who does what on machines of their own.
"""

# %%
# A batch
# -------
#
# All agree on what is asked, before anyone sends anything: the kind of curve, its thresholds, the
# budget, and both servers with their public keys. Owners encrypt each half of a report to the key
# of its server. The file is public.

from __future__ import annotations

import json
from contextlib import ExitStack

import matplotlib.pyplot as plt
from helpers.servers import SCORES, Authority, free_ports, nolook, server, token
from helpers.shell import FOLDER, shell

authority = Authority(FOLDER)
ports = free_ports(2)
public = []
for role in (0, 1):
    made = nolook("federated", "key", "--output", FOLDER / f"server{role}.private")
    public.append(made.strip())
shell(
    "nolook federated batch --name deposits --kind roc --grid 0.00390625:1:0.00390625"
    " --epsilon 1 --minimum 2000 --output batch.json"
    f" --server0 https://127.0.0.1:{ports[0]} --key0 {public[0]}"
    f" --server1 https://127.0.0.1:{ports[1]} --key1 {public[1]}"
)

# %%
# Two servers
# -----------
#
# Each has a ledger and a certificate of its own, and makes tokens for the other, the owners and the
# analyst. Here ``examples/federated.py`` starts both, as their two operators would.

known_by_1, known_by_0 = token(FOLDER, "peer", 1, 0)
owners, analyst = (token(FOLDER, role, 0, 1) for role in ("owner", "analyst"))
servers = ExitStack()
servers.enter_context(server(0, FOLDER, authority, ports, known_by_1))
servers.enter_context(server(1, FOLDER, authority, ports, known_by_0))
common = ["--batch", FOLDER / "batch.json", "--ca", authority.path]

# %%
# Two thousand owners
# -------------------
#
# Each row of the table is one owner, who sends half of a report to each server. The servers compare
# a digest of each report: one that is not exactly one valid value is rejected. They learn nothing
# else about it.

tokens = [word for file in owners for word in ("--token-file", file)]
rows = ["--table", SCORES, "--column", "score", "--target", "deposit"]
print(
    nolook("federated", "submit", *common, *tokens, *rows, "--pending", FOLDER / "pending"),
    end="",
)

# %%
# The answer
# ----------
#
# The analyst asks both servers and adds up their answers. The batch is frozen first. It has one
# answer, and asking again repeats it, so the noise cannot be averaged out.

tokens = [word for file in analyst for word in ("--token-file", file)]
found = ["--output", FOLDER / "deposits.roc.json", "--report", FOLDER / "deposits.html"]
print(nolook("federated", "query", "--freeze", *common, *tokens, *found), end="")
servers.close()

# %%
# The file is the same as that of ``nolook roc``. Two thousand rows are few for a curve, and each
# server adds all the noise: the shaded band, where the curve without noise may lie, is wide.

curve = json.loads((FOLDER / "deposits.roc.json").read_text())
band = curve["band"]
figure, axes = plt.subplots(figsize=(4.5, 4.2), layout="constrained")
axes.fill_between(*band.values(), color="#0b5fa5", alpha=0.2)
axes.plot(curve["fpr"], curve["tpr"], color="#0b5fa5")
axes.set(xlabel="false positive rate", ylabel="true positive rate")
plt.show()
