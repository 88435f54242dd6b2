"""The naive twin of core/kernels/window.py: a list."""


def window(kept, digests, now_ms, oldest_ms, size):
    """Return (repeated, kept afterwards); ``kept`` is a list of (digest, ms), oldest first."""
    kept = list(kept)
    while kept and kept[0][1] < oldest_ms:
        kept.pop(0)
    repeated = []
    for digest in digests:
        known = any(digest == held for held, _ in kept)
        repeated.append(int(known))
        if not known:
            kept = [*kept, (digest, now_ms)][-size:]
    return repeated, kept
