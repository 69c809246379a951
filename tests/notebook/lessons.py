"""Lessons with known effects: outcomes in the order in which they came, drawn by a seeded chance."""

from random import Random


def outcomes(chance: Random, *, runs: int, share: float, without: float, with_it: float) -> str:
    """`runs` outcomes as looks.py writes them; each run is withheld from with probability `share`."""
    made = []
    for _ in range(runs):
        is_withheld = chance.random() < share
        succeeded = chance.random() < (without if is_withheld else with_it)
        letter = "w" if is_withheld else "g"
        made.append(letter.upper() if succeeded else letter)
    return "".join(made)
