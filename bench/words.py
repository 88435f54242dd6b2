"""Vectors of words on the Brown corpus: fBGD beside skip-gram with negative sampling.

    python -m bench.words [--json]

Both learn vectors of dimension 200 from the same sentences and the same words, those that occur
five times or more, as the paper does on Text8. Then analogies are asked: a is to b as c is to what?
The answer is the word with the vector nearest to b - a + c, without the three. Questions with a
word that the corpus has not five times are left out.

Skip-gram is gensim's, with 10 and with 25 negatives (the paper's on its two corpora) and with more
epochs. fBGD has PPMI as targets and GloVe's weights. Its settings are those with which
`content` reads texts, and the same almost without regularisation, as in the paper.
"""

import argparse
import gzip
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from gensim.models import Word2Vec
from numpy.typing import NDArray

from bench import data
from bench.report import Figure, publish
from core.batch.feature_map import unit_rows
from core.batch.words.cooccurrence import Cooccurrence
from core.batch.words.tokens import words_of
from core.batch.words.vectors import WordsConfig, fit_words
from core.gate import paired_interval
from core.types import F32, I64

SECTION = "Vectors of words, Brown corpus"
FOLDER = data.FOLDER / "text-brown"
TEXTS, QUESTIONS = FOLDER / "brown.txt.gz", FOLDER / "questions-words.txt.gz"
DIMENSION, FEWEST = 200, 5
AT_ONCE = 512
SYNTACTIC = "gram"
"""Groups of questions about forms begin like this; the others are about meanings."""
UNREGULARISED = 0.015
OURS = {
    "fBGD": WordsConfig(factors=DIMENSION),
    "fBGD, hardly regularised": WordsConfig(factors=DIMENSION, reg=UNREGULARISED),
}
RIVALS: Mapping[str, Mapping[str, int]] = {
    "skip-gram, 10 negatives, 15 epochs": {"negative": 10, "epochs": 15, "window": 10},
    "skip-gram, 25 negatives, 15 epochs": {"negative": 25, "epochs": 15, "window": 10},
    "skip-gram, 10 negatives, 30 epochs, window 5": {"negative": 10, "epochs": 30, "window": 5},
    "skip-gram, 10 negatives, 50 epochs, window 5": {"negative": 10, "epochs": 50, "window": 5},
}

Sentences = Sequence[Sequence[str]]
Bools = NDArray[np.bool_]


def read_sentences() -> Sentences:
    with gzip.open(TEXTS, "rt") as lines:
        return [words_of(line) for line in lines]


def numbers_of(sentences: Sentences) -> dict[str, int]:
    """Return a number for each word that is frequent enough."""
    often = Counter(word for sentence in sentences for word in sentence)
    kept = [word for word, n in often.most_common() if n >= FEWEST]
    return {word: number for number, word in enumerate(kept)}


@dataclass(frozen=True)
class Analogies:
    """n questions whose words are all known."""

    words: I64
    """(n, 4): a, b, c and the answer."""
    syntactic: Bools
    asked: int
    """All questions, those with unknown words too."""

    @classmethod
    def read(cls, numbers: Mapping[str, int]) -> "Analogies":
        rows, syntactic, asked, group = [], [], 0, ""
        with gzip.open(QUESTIONS, "rt") as lines:
            for line in lines:
                words = line.lower().split()
                if words[0] == ":":
                    group = words[1]
                    continue
                asked += 1
                if all(word in numbers for word in words):
                    rows.append([numbers[word] for word in words])
                    syntactic.append(group.startswith(SYNTACTIC))
        return cls(np.array(rows, np.int64), np.array(syntactic), asked)

    def answered(self, vectors: F32) -> Bools:
        """Return which questions these vectors (words, g) answer."""
        unit = np.asarray(unit_rows(vectors))
        right = np.zeros(len(self.words), np.bool_)
        for first in range(0, len(self.words), AT_ONCE):
            a, b, c, answer = self.words[first : first + AT_ONCE].T
            likeness = (unit[b] - unit[a] + unit[c]) @ unit.T
            rows = np.arange(a.size)
            for given in (a, b, c):
                likeness[rows, given] = -np.inf
            right[first : first + a.size] = likeness.argmax(axis=1) == answer
        return right


def ours(sentences: Sentences, numbers: Mapping[str, int], config: WordsConfig) -> F32:
    counted = Cooccurrence(numbers)
    counted.add(sentences)
    return fit_words(counted.counts(), config)


def skip_gram(sentences: Sentences, numbers: Mapping[str, int], settings: Mapping[str, int]) -> F32:
    model = Word2Vec(
        sentences, vector_size=DIMENSION, min_count=FEWEST, sg=1, seed=0, workers=1, **settings
    )
    vectors: F32 = np.array([model.wv[word] for word in numbers], np.float32)
    return vectors


def compared() -> Iterator[Figure]:
    sentences = read_sentences()
    numbers = numbers_of(sentences)
    asked = Analogies.read(numbers)
    found: dict[str, Bools] = {}
    for name in (*OURS, *RIVALS):
        began = perf_counter()
        print(f"{name}: begins", file=sys.stderr, flush=True)
        if name in OURS:
            vectors = ours(sentences, numbers, OURS[name])
        else:
            vectors = skip_gram(sentences, numbers, RIVALS[name])
        found[name] = asked.answered(vectors)
        yield _share(name, found[name], asked, perf_counter() - began)
    best = max(RIVALS, key=lambda name: float(found[name].mean()))
    for name in OURS:
        yield _difference(name, best, found)


def _share(name: str, right: Bools, asked: Analogies, seconds: float) -> Figure:
    drawn = np.random.default_rng(0).integers(0, right.size, (1_000, right.size))
    low, high = np.quantile(right[drawn].mean(axis=1), [0.025, 0.975])
    figure = Figure(
        SECTION,
        f"{name}: analogies answered",
        100 * float(right.mean()),
        "%",
        better="higher",
        note=f"{100 * low:.2f} to {100 * high:.2f}; meanings "
        f"{100 * right[~asked.syntactic].mean():.1f}, forms "
        f"{100 * right[asked.syntactic].mean():.1f}; {right.size} of {asked.asked} questions have "
        f"known words; {seconds:.0f} s",
    )
    print(f"{figure.what} {figure.value:.2f} % ({figure.note})", file=sys.stderr, flush=True)
    return figure


def _difference(name: str, rival: str, found: Mapping[str, Bools]) -> Figure:
    mine, theirs = (found[one].astype(np.float64) for one in (name, rival))
    interval = paired_interval(mine, theirs, np.random.default_rng(0))
    return Figure(
        SECTION,
        f"{name}: more answered than by the best skip-gram ({rival}), lower end of the interval",
        100 * interval.low,
        "points",
        bar=0.0,
        better="higher",
        note=f"{100 * interval.low:+.2f} to {100 * interval.high:+.2f} (95 %, paired by question)",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    for file in (TEXTS, QUESTIONS):
        if not file.is_file():
            sys.exit(f"{file} is missing")
    sys.exit(publish(list(compared()), as_json=asked.json, data="Brown corpus"))


if __name__ == "__main__":
    main()
