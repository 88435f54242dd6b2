"""History records: their size, and the sequence that they keep in six bytes."""

import numpy as np

from service.store.profiles.history_record import HISTORY, read_history, records, sequences


def test_history_records_are_24_bytes_and_keep_a_u48_sequence():
    sequence = np.array([1, 2**32 + 5, 2**48 - 1], dtype=np.int64)
    n = sequence.size
    packed = records(
        np.arange(n),
        np.ones(n),
        np.arange(n, dtype=np.int64),
        sequence,
        np.zeros(n, dtype=np.uint8),
    )
    assert HISTORY.itemsize == 24
    assert sequences(read_history(packed.tobytes())).tolist() == sequence.tolist()


def test_a_missing_history_is_empty():
    assert read_history(None).size == 0
