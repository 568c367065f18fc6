"""A made-up hospital's table, as untidy as real ones; no stay in it took place."""

from __future__ import annotations

import numpy as np

WARDS = ["Medicine", "Surgery", "Cardiology", "Geriatrics"]
HEAD = "stay;patient_id;admitted;age;sex;ward;systolic;days;cost;readmitted"


def euros(amount):
    """Write an amount as the hospital's accounts do: 1.234,50."""
    return f"{amount:,.2f}".translate(str.maketrans(",.", ".,"))


def write_stays(path, patients=40_000, seed=7):
    """Write a CSV file of stays, one to five for each patient."""
    generator = np.random.default_rng(seed)
    of = np.repeat(np.arange(patients), generator.choice([1, 1, 1, 2, 3, 5], patients))
    age = generator.integers(18, 95, patients)[of]
    sex = generator.choice(["F", "M"], patients)[of]
    ward = generator.integers(0, len(WARDS), len(of))
    systolic = generator.normal(105 + 0.45 * age, 14)
    days = np.maximum(1, generator.poisson(2 + age / 25 + 2 * (ward == 3)))
    cost = 400 + 310 * days + 900 * (ward == 1) + generator.gamma(2, 150, len(of))
    chance = 1 / (1 + np.exp(5.5 - 0.05 * age - 0.15 * days - 0.8 * (ward == 3)))
    again = generator.random(len(of)) < chance
    admitted = np.datetime64("2024-01-01") + generator.integers(0, 366, len(of))
    lines = [HEAD]
    for i in range(len(of)):
        year, month, day = str(admitted[i]).split("-")
        pressure = "n/a" if generator.random() < 0.03 else f"{systolic[i]:.1f}".replace(".", ",")
        place = WARDS[ward[i]] if generator.random() > 0.01 else "?"
        words = [i + 1, 100_000 + of[i], f"{day}.{month}.{year}", age[i], sex[i], place, pressure]
        words += [days[i], euros(cost[i]), "yes" if again[i] else "no"]
        lines.append(";".join(map(str, words)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
