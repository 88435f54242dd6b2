"""Items placed by their texts, on Last.fm: words with columns, hashed words, and vectors of texts.

    python -m bench.texts [--json]

The text of an artist are the tags that people gave. Few artists are known: a regression maps their
texts to the vectors that fBGD learns of them from all listeners. The figure is the share of the
squared length, about the mean, that it explains of the vectors of all other artists with five
listeners. It is below 0 where the mean would be better.
"""

import argparse
import csv
import gzip
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from bench import data
from bench.report import Figure, publish
from core.batch.content.encoder import MEANT, SAID, DocumentEncoder
from core.batch.content.encoder_fit import encoder_of
from core.batch.content.places import DOUBT, place
from core.batch.content.words import WordFit, texts_of
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.fbgd.search import rough
from core.batch.words.tokens import words_of
from core.features import FeatureEncoder
from core.interactions import Interactions, from_pairs
from core.types import F32, F64

SECTION = "Items placed by their texts, Last.fm"
FOLDER = data.FOLDER / "lastfm-hetrec"
KNOWN, LISTENERS, COLUMNS = (100, 300, 1_000), 5, 1_024
DRAWS = 3

Bodies = Sequence[dict[str, Any]]


def _rows(name: str) -> Iterator[dict[str, str]]:
    with gzip.open(FOLDER / name, "rt") as lines:
        yield from csv.DictReader(lines)


def read() -> tuple[Interactions, Bodies]:
    """Return who listened to which artist, and the tags of each artist as a text."""
    heard = [(row["user"], row["item"]) for row in _rows("user_artists.csv.gz")]
    users, user = np.unique([one for one, _ in heard], return_inverse=True)
    artists, artist = np.unique([one for _, one in heard], return_inverse=True)
    names = {row["tag"]: row["value"] for row in _rows("tags.csv.gz")}
    said = defaultdict(list)
    for row in _rows("user_taggedartists.csv.gz"):
        said[row["item"]].append(names.get(row["tag"], ""))
    bodies = [{"features": {"tags": ". ".join(said[artist])}} for artist in artists.tolist()]
    return from_pairs(user, artist, n_users=users.size, n_items=artists.size), bodies


def hashed(bodies: Bodies) -> sp.csr_array:
    """Return the words of documents in columns that they share by chance, with signs."""
    words = WordFit()
    words.add(bodies)
    weights = words.weights(1 << 31, 2)
    rows = np.zeros((len(bodies), COLUMNS), np.float32)
    for at, body in enumerate(bodies):
        for word in {word for text in texts_of(body) for word in words_of(text)}:
            number = zlib.crc32(word.encode())
            rows[at, number % COLUMNS] += (1 if number >> 31 else -1) * weights.get(word, 0.0)
    return sp.csr_array(rows)


def options(bodies: Bodies) -> dict[str, sp.csr_array]:
    """Return what is said of the artists, each way."""
    encoder = replace(encoder_of(bodies), facts=FeatureEncoder())
    by_words = replace(encoder, texts=None).transform(bodies)
    both = encoder.transform(bodies)
    alone = DocumentEncoder(texts=encoder.texts).transform(bodies)
    return {
        f"words with columns of their own ({encoder.words.width})": by_words,
        f"words hashed to {COLUMNS} columns": hashed(bodies),
        "vectors of texts": alone,
        f"words and vectors, {SAID} and {MEANT}": both,
    }


def explained(rows: sp.csr_array, vectors: F32, evidence: F64, n_known: int) -> float:
    """Return the mean share over draws of the known artists."""
    shares = []
    for seed in range(DRAWS):
        some = np.random.default_rng(seed).permutation(np.flatnonzero(evidence >= LISTENERS))
        known, others = some[:n_known], some[n_known:]
        learned = np.zeros(evidence.size)
        learned[known] = evidence[known]
        weight = evidence / (evidence + DOUBT)
        mean = np.average(vectors[known], axis=0, weights=weight[known])
        missed = np.square(vectors - place(rows, vectors, learned).places).sum(axis=1)
        whole = np.square(vectors - mean).sum(axis=1)
        shares.append(1.0 - (weight[others] @ missed[others]) / (weight[others] @ whole[others]))
    return float(np.mean(shares))


def compared() -> Iterator[Figure]:
    pairs, bodies = read()
    settings = replace(FbgdConfig(), **rough(pairs))
    vectors = Fbgd(settings).fit(pairs).item_factors
    evidence = pairs.item_counts.astype(np.float64)
    for name, rows in options(bodies).items():
        for n_known in KNOWN:
            share = explained(rows, vectors, evidence, n_known)
            print(f"{name}, {n_known}: {share:.3f}", file=sys.stderr, flush=True)
            what = f"{n_known} artists known, {name}: share explained"
            yield Figure(SECTION, what, share, better="higher", note=f"mean of {DRAWS} draws")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if not FOLDER.is_dir():
        sys.exit(f"{FOLDER} is missing")
    sys.exit(publish(list(compared()), as_json=asked.json, data="Last.fm"))


if __name__ == "__main__":
    main()
