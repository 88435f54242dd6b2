"""The naive twin of core/kernels/count.py: every event is kept, every sum is made anew."""


def count(events, half_life_ms):
    """Return (total, total decayed to the newest event, its time) of (weight, time) pairs."""
    total = sum(w for w, _ in events)
    newest = max(t for _, t in events)
    recent = sum(w * 2.0 ** ((t - newest) / half_life_ms) for w, t in events)
    return total, recent, newest
