"""
Rows that never leave their owners: two servers
===============================================

Each customer of a bank has a score (the predicted probability of opening a deposit) and knows
whether they opened one. The ROC curve of all customers is to be published, but no one may collect
the rows. So each customer splits a report in two and sends one half to each of two servers. A
half on its own reveals nothing, and each server adds its own noise. The result is private as long
as one of the two servers is honest.

Here everything runs on one machine. :doc:`/federated` describes the steps of each party on
machines of their own.
"""

# %%
# Two servers
# -----------
#
# Each party sets up its own server: keys, a certificate, tokens and a ledger, all in a folder that
# stays with the party. ``public.json`` in it is for everyone, and each server needs a token of the
# other.

from __future__ import annotations

from contextlib import ExitStack
from shutil import copyfile

import matplotlib.pyplot as plt
from helpers.servers import SCORES, free_ports, nolook, server, token_words
from helpers.shell import FOLDER, shell

from nolook import load

ports = free_ports(2)
for role in (0, 1):
    shell(
        f"nolook federated setup server{role} --address https://127.0.0.1:{ports[role]} --epsilon 3"
    )
homes = [FOLDER / "server0", FOLDER / "server1"]
for home, other in (homes, homes[::-1]):
    copyfile(other / "public.json", home / "peer.json")
    copyfile(other / "hand-out" / "peer.token", home / "peer.token")

# %%
# A batch
# -------
#
# All parties agree on the question before anyone sends anything: the kind of curve, its thresholds,
# the budget, and both servers. Owners encrypt each half of a report with the key of its server. The
# file is public.

shell(
    "nolook federated batch --name deposits --kind roc --grid 0.00390625:1:0.00390625"
    " --epsilon 1 --minimum 2000 --column score --target deposit --output batch.json"
    " --server0 server0/public.json --server1 server1/public.json"
)
servers = ExitStack()
for home, port in zip(homes, ports, strict=True):
    servers.enter_context(server(home, FOLDER / "batch.json", port))

# %%
# Two thousand owners
# -------------------
#
# Each row of the table is one owner, who sends half of a report to each server. The servers compare
# a digest of each report: one that is not exactly one valid value is rejected. They learn nothing
# else about it.

common = ["--batch", FOLDER / "batch.json"]
words = [*common, *token_words(homes, "owner"), "--table", SCORES]
print(nolook("federated", "submit", *words, "--pending", FOLDER / "pending"), end="")

# %%
# The answer
# ----------
#
# The analyst freezes the batch, queries both servers and adds up their answers. A batch has one
# answer: asking again repeats it, so the noise cannot be averaged out.

tokens = token_words(homes, "analyst")
found = ["--output", FOLDER / "deposits.roc.json", "--report", FOLDER / "deposits.html"]
print(nolook("federated", "query", "--freeze", *common, *tokens, *found), end="")
servers.close()

# %%
# The file has the same format as that of ``nolook roc``. Two thousand rows are few for a curve, and
# each server adds the full noise, so the shaded 95 % band is wide.

figure, axes = plt.subplots(figsize=(4.5, 4.2), layout="constrained")
load(FOLDER / "deposits.roc.json").plot(ax=axes)
plt.show()
