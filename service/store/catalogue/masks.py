"""A cache of the masks of items: who passes a filter, is in a category, or may be shown."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from core.filter import Mask
from service.store.catalogue.blocks import ALWAYS, BLOCK, EMPTY, NEVER, Block

MASK_BYTES = 64 << 20
"""Maximum bytes of cached masks; ``LEAST_MASKS`` are cached whatever their size."""
LEAST_MASKS = 4
"""Number of masks that are cached whatever their size."""

_EDITIONS = count(1)

BlockMask = Callable[[Block], tuple[Mask, int, int]]
"""Returns the mask of a block and the times (from, before) between which it is valid, in ms."""


@dataclass(frozen=True)
class KeptMask:
    """A cached mask of whole blocks and beyond them; valid from ``since`` on, before ``until``."""

    blocks: Sequence[Block]
    mask: Mask
    since: int
    until: int
    edition: int
    """Changes with the mask."""
    reopened: int
    """Changes when an item passes that did not pass before."""


class Masks:
    """A cache of recently used masks; only blocks that changed are evaluated again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[object, KeptMask] = OrderedDict()

    def get(
        self, key: object, blocks: Sequence[Block], n: int, now_ms: int, block_mask: BlockMask
    ) -> Mask:
        """Return the mask (n,) of items 0 .. n - 1; read-only."""
        return self.kept(key, blocks, n, now_ms, block_mask).mask[:n]

    def kept(
        self, key: object, blocks: Sequence[Block], n: int, now_ms: int, block_mask: BlockMask
    ) -> KeptMask:
        """Return the cached mask of at least n items, evaluated now if it must be."""
        kept = self._kept.get(key)
        if (
            kept is None
            or kept.blocks is not blocks
            or kept.mask.size < n
            or not kept.since <= now_ms < kept.until
        ):
            kept = self._evaluated(kept, blocks, n, now_ms, block_mask)
            self._kept[key] = kept
            while len(self._kept) > max(LEAST_MASKS, MASK_BYTES // max(kept.mask.size, 1)):
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return kept

    def _evaluated(
        self,
        old: KeptMask | None,
        blocks: Sequence[Block],
        n: int,
        now_ms: int,
        block_mask: BlockMask,
    ) -> KeptMask:
        size = (
            max(len(blocks), -(-n // BLOCK), 0 if old is None else old.mask.size // BLOCK) * BLOCK
        )
        since, until, known = ALWAYS, NEVER, 0
        mask = np.empty(size, np.bool_)
        if old is not None and old.since <= now_ms < old.until:
            since, until, known = old.since, old.until, old.mask.size // BLOCK
            mask[: old.mask.size] = old.mask
        for at in range(size // BLOCK):
            block = blocks[at] if at < len(blocks) else EMPTY
            before = old.blocks[at] if old is not None and at < len(old.blocks) else EMPTY
            if at >= known or block is not before:
                mask[at * BLOCK : (at + 1) * BLOCK], begins, ends = block_mask(block)
                since, until = max(since, begins), min(until, ends)
        mask.flags.writeable = False
        edition = reopened = next(_EDITIONS)
        if old is not None:
            passed = np.ones(size, np.bool_)
            passed[: old.mask.size] = old.mask
            # of most items that change, other fields do
            edition = old.edition if np.array_equal(mask, passed) else edition
            reopened = reopened if (mask > passed).any() else old.reopened
        return KeptMask(blocks, mask, since, until, edition, reopened)
