"""Texts of a small language, whose words are of kinds that stand in the same places."""

import numpy as np

ANIMALS = [f"animal{n}" for n in range(6)]
VERBS = [f"verb{n}" for n in range(6)]
PLACES = [f"place{n}" for n in range(6)]
NUMBERS = {word: at for at, word in enumerate([*ANIMALS, *VERBS, *PLACES, "the", "in"])}


def texts(n: int, seed: int = 0) -> list[list[str]]:
    """Return sentences: the ANIMAL VERB in the PLACE."""
    drawn = np.random.default_rng(seed).integers(0, 6, (n, 3)).tolist()
    return [["the", ANIMALS[a], VERBS[v], "in", "the", PLACES[p]] for a, v, p in drawn]
