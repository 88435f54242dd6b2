"""Derived randomness: the published generator, and draws that depend on their purpose alone."""

import hashlib

import numpy as np
import pytest

from core.rng import id_hashes, mix, symmetric_noise

MASK = (1 << 64) - 1


def splitmix64(value):
    """Return the output of splitmix64 whose state was ``value``, in Python's integers."""
    z = (value + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def plain_noise(seed, side, row_hash, coordinate):
    root = splitmix64((2 * seed + side) & MASK)
    bits = splitmix64(splitmix64(row_hash ^ root) ^ splitmix64(coordinate))
    return 2.0 * (bits >> 11) * 2.0**-53 - 1.0


def test_the_mixer_is_splitmix64():
    # the first outputs of the published generator from state 0
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    golden = np.uint64(0x9E3779B97F4A7C15)
    assert mix(np.arange(3, dtype=np.uint64) * golden).tolist() == published
    assert mix(np.array([MASK], np.uint64)).tolist() == [splitmix64(MASK)]


def test_an_id_has_the_digest_of_its_utf_8_bytes():
    digest = hashlib.blake2b("Žižek".encode(), digest_size=8).digest()
    assert id_hashes(["", "Žižek"])[1] == int.from_bytes(digest, "little")
    assert id_hashes([]).shape == (0,)


@pytest.mark.parametrize("seed", [0, 7, 2**63 - 1])
@pytest.mark.parametrize("side", [0, 1])
def test_a_draw_is_a_function_of_seed_side_id_and_coordinate(seed, side):
    hashes = id_hashes(["ada", "bob"])
    noise = symmetric_noise(seed, side, hashes, first=5, count=3)
    expected = [[plain_noise(seed, side, int(h), 5 + c) for c in range(3)] for h in hashes]
    assert noise.tolist() == expected


def test_draws_do_not_depend_on_what_is_drawn_beside_them():
    hashes = id_hashes(["ada", "bob", "eve"])
    whole = symmetric_noise(3, 0, hashes, first=0, count=8)
    np.testing.assert_array_equal(
        symmetric_noise(3, 0, hashes[1:2], first=2, count=4), whole[1:2, 2:6]
    )


def test_draws_are_spread_evenly_between_minus_1_and_1():
    noise = symmetric_noise(1, 0, id_hashes(map(str, range(400))), first=0, count=250)
    assert -1.0 <= noise.min() < -0.999
    assert 0.999 < noise.max() < 1.0
    counts = np.histogram(noise, bins=20, range=(-1.0, 1.0))[0]
    assert np.abs(counts - 5_000).max() < 5 * np.sqrt(5_000)
    # neighbours in a row, and rows of the next id, are independent
    assert abs(np.corrcoef(noise[:, :-1].ravel(), noise[:, 1:].ravel())[0, 1]) < 0.015
    assert abs(np.corrcoef(noise[:-1].ravel(), noise[1:].ravel())[0, 1]) < 0.015
