"""What is a word of a text.

A word is a run of letters or digits, in lower case; in scripts that write no spaces, each pair of
neighbouring characters is one. So every language has words, though not the best ones.
"""

import re
import unicodedata

LONGEST = 2_000
"""Words of one text that are read."""

_RUNS = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+"
)
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese characters."""


def words_of(text: str) -> list[str]:
    """Return the words of a text, at most LONGEST.

    >>> words_of("Star Wars: Episode IV"), words_of("Straße"), words_of("千と千尋")
    (['star', 'wars', 'episode', 'iv'], ['strasse'], ['千と', 'と千', '千尋'])
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    found: list[str] = []
    for run in _RUNS.finditer(plain):
        found += _words_of_run(run.group())
        if len(found) >= LONGEST:
            break
    return found[:LONGEST]


def _words_of_run(run: str) -> list[str]:
    """Return the words of a run of letters or digits, which may change its script."""
    if run.isascii():
        return [run]
    found: list[str] = []
    at = 0
    for part in _UNSPACED.finditer(run):
        found += [run[at : part.start()]] if part.start() > at else []
        found += _pairs(part.group())
        at = part.end()
    return found + ([run[at:]] if at < len(run) else [])


def _pairs(run: str) -> list[str]:
    """Return each pair of neighbouring characters, or a character that stands alone."""
    return [run[at : at + 2] for at in range(max(len(run) - 1, 1))]
