"""Restores backups into a namespace that is empty, or is emptied first.

Every file is checked to its end before anything is written. The namespace exists once all is there:
until then processes are refused, and what was written goes if the restore fails. It is a new
incarnation (``store/identity``) that takes the place of those before it, so whatever processes kept
of them is dropped.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import redis

from service.errors import Conflict
from service.settings import Settings
from service.store.api_keys import read_ring, revoke_key
from service.store.backup.chain import Checked, check_repeatable, checked, pieces
from service.store.backup.claim import Claim
from service.store.backup.container import BadBackup
from service.store.backup.pieces import Piece, write_piece
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.identity.identity import Identity
from service.store.identity.known import Positions
from service.store.identity.memory import Memory
from service.store.identity.survey import survey
from service.store.keys import WHOLE, NamespaceKeys, PartitionKeys, pattern_of
from service.store.layout import check
from service.store.namespace import read_namespace
from service.store.namespaces import contents
from service.store.recovery.healing import ROLLBACKS_KEPT, Rollback
from service.store.recovery.wholeness import faults

VALUES_WRITTEN, BYTES_WRITTEN = 1_000, 4 << 20
"""Number and bytes of values that are sent together: bounds how long other clients wait."""
PIECES_TOLD = 1_000
"""After so many pieces ``progress`` is told."""
SETTINGS = (WHOLE, b"namespace")
"""The key that says that the namespace exists, and which one it is: written last."""


@dataclass(frozen=True)
class Restored:
    """What a restore has brought back."""

    chain: Sequence[Checked]
    identity: Identity
    positions: Positions
    learned: tuple[int, ...]
    """Watermark of each partition."""
    revoked: int
    """Number of API keys that were revoked."""
    faults: Sequence[str]
    """What did not fit together in the backup, as it did not in the store."""


def restore(
    client: redis.Redis,
    settings: Settings,
    paths: Sequence[Path],
    *,
    replace: bool = False,
    revoke_keys: bool = False,
    progress: Callable[[str, int], None] = lambda *_: None,
) -> Restored:
    """Restore a whole backup and those that continue it into the namespace of the settings.

    BadBackup for files that are not whole, before anything is written. Conflict for a namespace
    that holds anything, unless it is to be replaced, or for which somebody works. ``progress`` is
    told the phase and the number of pieces.
    """
    name = settings.namespace
    check_repeatable(paths)
    chain = checked(paths, _counting("checking", progress))
    last = chain[-1].header
    check(name, last.layout, last.written_by)
    before = _Before(client, settings)
    before.refuse_if_used(replace=replace)
    claim = Claim(client, name, last.id)
    with pieces(chain) as found_pieces, _claimed(claim, replace=replace):
        stored = _write(claim, name, found_pieces, progress)
        if "partitions" not in stored:
            raise BadBackup(f"{paths[0]} holds no namespace: it was made by hand")
        partitions = int(stored["partitions"])
        wrong = faults(client, name, partitions)
        revoked = _revoke_all(client, name) if revoke_keys else 0
        identity = Identity.new()
        _finish(client, claim, name, stored, identity, before)
    found = survey(client, name, partitions)
    before.let_know(identity, found.positions)
    return Restored(chain, identity, found.positions, found.learned, revoked, wrong)


class _Before:
    """What was under the name before, in the store and in the memory of the data directory."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self._client, self._name = client, settings.namespace
        self._memory = Memory(settings.data_dir)
        remembered = self._memory.of(self._name)
        self._incarnations = {remembered.incarnation} - {""}
        self._positions = remembered.positions
        namespace = read_namespace(client, self._name)
        if namespace is not None:
            found = survey(client, self._name, namespace.partitions)
            self._positions = found.positions
            self._incarnations |= found.replaces
            self._incarnations |= {found.identity.incarnation} if found.identity else set()

    def refuse_if_used(self, *, replace: bool) -> None:
        """Raise Conflict if somebody works for the namespace, or holds something in it."""
        name, client = self._name, self._client
        with store_errors():
            is_used = next(client.scan_iter(pattern_of(name), count=1_000), None) is not None
        if is_used and not replace:
            raise Conflict(
                f"the store holds keys of a namespace {name}: add --replace to delete them first, "
                "or restore under another HEDGEROW_NAMESPACE"
            )
        workers = contents(client, name).workers if read_namespace(client, name) else []
        if workers:
            raise Conflict(
                f"{', '.join(workers)} work for the namespace {name}: stop `hedgerow serve`, its "
                "learners and its trainer, then restore it"
            )

    def replaced(self, stored: dict[str, str]) -> str:
        """Return the incarnations in whose place the restored namespace comes."""
        ours = {Identity.parse(stored["identity"]).incarnation} if stored.get("identity") else set()
        return " ".join(sorted(ours | self._incarnations | {*stored.get("replaces", "").split()}))

    def lost(self, found: Positions) -> Rollback | None:
        """Return what the store knew and the backup does not, None if it knew no more."""
        known = self._positions
        return Rollback(now_ms(), 0, known, found) if found.lacks(known) else None

    def let_know(self, identity: Identity, found: Positions) -> None:
        """Let the data directory remember the restored namespace, and whether it has keys."""
        self._memory.remember(self._name, identity, found)
        if read_ring(self._client, self._name):
            self._memory.remember_keys(self._name)


@contextmanager
def _claimed(claim: Claim, *, replace: bool) -> Iterator[None]:
    """Keep the name empty and to ourselves; what was written goes if the restore fails."""
    claim.take(replace=replace)
    try:
        claim.empty()
        yield
    except BaseException:
        claim.give_up()
        raise


def _write(
    claim: Claim,
    name: str,
    found: Iterable[Piece],
    progress: Callable[[str, int], None],
) -> dict[str, str]:
    """Write all pieces but the key that says that the namespace exists; return its fields."""
    settings: Sequence[bytes] = ()
    seen = _counting("restoring", progress)
    for batch in _batches(found):
        with claim.writing() as pipe:
            for piece in batch:
                seen(piece)
                if piece.key == SETTINGS:
                    settings = piece.values
                else:
                    write_piece(pipe, name, piece)
    texts = [one.decode() for one in settings]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _batches(found: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Yield pieces that are written together."""
    batch: list[Piece] = []
    n_values = n_bytes = 0
    for piece in found:
        batch.append(piece)
        n_values += len(piece.values)
        n_bytes += sum(map(len, piece.values))
        if n_values >= VALUES_WRITTEN or n_bytes >= BYTES_WRITTEN:
            yield batch
            batch, n_values, n_bytes = [], 0, 0
    yield batch


def _finish(
    client: redis.Redis,
    claim: Claim,
    name: str,
    stored: dict[str, str],
    identity: Identity,
    before: _Before,
) -> None:
    """Let the namespace exist, in one step."""
    keys, partitions = NamespaceKeys(name), range(int(stored["partitions"]))
    lost = before.lost(survey(client, name, len(partitions)).positions)
    fields: dict[Any, Any] = {
        **stored,
        "identity": str(identity),
        "replaces": before.replaced(stored),
    }
    with claim.writing() as pipe:
        for partition in partitions:
            pipe.hset(PartitionKeys(name, partition).state, "identity", str(identity))
        if lost is not None:
            pipe.lpush(keys.rollbacks, msgspec.json.encode(asdict(lost)))
            pipe.ltrim(keys.rollbacks, 0, ROLLBACKS_KEPT - 1)
        pipe.delete(keys.settings)
        pipe.hset(keys.settings, mapping=fields)
        claim.release(pipe)


def _revoke_all(client: redis.Redis, name: str) -> int:
    working = [key.id for key in read_ring(client, name).keys.values() if key.revoked is None]
    for key_id in working:
        revoke_key(client, name, key_id)
    return len(working)


def _counting(phase: str, progress: Callable[[str, int], None]) -> Callable[[Piece], None]:
    """Return what counts pieces and tells of them now and then."""
    count = 0

    def seen(_: Piece) -> None:
        nonlocal count
        count += 1
        if count % PIECES_TOLD == 0:
            progress(phase, count)

    return seen
