"""The data dictionary: every Redis key, its type, its writer and an example of its value.

All keys of partition ``p`` of namespace ``ns`` share the hash tag ``{ns.p}``, so that one commit
touches one slot. Keys of the whole namespace have the tag ``{ns}``. Read this file beside
``redis-cli``. Keys that begin with ``rq:`` are RQ's own: they carry the ids of jobs to the trainer
(store/jobs/queue.py), and may be lost.
"""

from dataclasses import dataclass

WHOLE = -1
"""In the place of a partition's number: the key is one of the whole namespace."""


def pattern_of(namespace: str) -> str:
    """Return the pattern of all keys of a namespace, for SCAN.

    Names have no dot, so keys of another namespace never match.
    """
    return f"hr:{{{namespace}[.}}]*"


def key_of(namespace: str, partition: int, name: bytes) -> bytes:
    """Return a key by its parts.

    >>> key_of("shop", 0, b"users")
    b'hr:{shop.0}:users'
    """
    tag = namespace if partition == WHOLE else f"{namespace}.{partition}"
    return b"hr:{%b}:%b" % (tag.encode(), name)


def parts_of_key(key: bytes) -> tuple[int, bytes]:
    """Return the partition and the name of a key.

    >>> parts_of_key(b"hr:{shop}:user-document:{a}:b")
    (-1, b'user-document:{a}:b')
    """
    tag, _, name = key.removeprefix(b"hr:{").partition(b"}:")
    _, _, partition = tag.partition(b".")
    return int(partition) if partition else WHOLE, name


@dataclass(frozen=True)
class NamespaceKeys:
    """Keys of a whole namespace."""

    namespace: str

    def _key(self, rest: str) -> str:
        return f"hr:{{{self.namespace}}}:{rest}"

    @property
    def settings(self) -> str:
        """hash: properties fixed at creation, and the identity (store/identity). partitions=1
        scale=1:5 seed=0 created=2026-11-18T12:00:00Z identity=9f2c01ab34de5678.0.5c1d9a00."""
        return self._key("namespace")

    @property
    def layout(self) -> str:
        """hash family -> version of its layout (store/layout.py); "by": the version that wrote it.
        log -> 1, by -> 0.1.0."""
        return self._key("layout")

    @property
    def request_keys(self) -> str:
        """hash bucket -> at most 16 entries of 16 bytes, the oldest first (api, script): tag of an
        `Idempotency-Key`, who sent it, u32 index and digest of its first row, see
        log/request_keys.py."""
        return self._key("request-keys")

    @property
    def restoring(self) -> str:
        """string (store/backup/claim.py): a backup is being restored, its id and a mark of the
        restore. 9f2c01ab34de5678 5c1d9a0077aa01f3."""
        return self._key("restoring")

    @property
    def rollbacks(self) -> str:
        """list, the newest 20 (store/recovery/healing.py): what the store was found to have lost.
        {"at_ms":...,"era":1,"known":{"sequences":[1000],"items":51},"found":{...}}."""
        return self._key("rollbacks")

    @property
    def item_numbers(self) -> str:
        """hash id -> number (api, script). "tt0111161" -> 17."""
        return self._key("item-numbers")

    @property
    def item_ids(self) -> str:
        """list: the id at index = number (api, same script). LINDEX 17 -> "tt0111161"."""
        return self._key("item-ids")

    def item_document(self, number: int) -> str:
        """string, JSON with a version (api, compare-and-set).
        {"version":3,"categories":["film"],...}."""
        return self._key(f"item-document:{number}")

    @property
    def first_stack(self) -> str:
        """string, JSON (trainer, derived): {"job":"f2c5...","stack":{"names":["fbgd: score",...],
        ...}}: first weights of a stack, from the latest training of all families."""
        return self._key("first-stack")

    @property
    def catalogue_changes(self) -> str:
        """stream, capped, ids without holes (api, with each change of an item's document): {i:
        17}."""
        return self._key("catalogue-changes")

    def user_document(self, user: str) -> str:
        """string, JSON with a version (api, compare-and-set; removed with the append of a
        deletion). {"version":1,"features":{"age":31},...}."""
        return self._key(f"user-document:{user}")

    @property
    def user_documents(self) -> str:
        """zset of ids, score 0: the users that have a document (api), for listing."""
        return self._key("user-documents")

    @property
    def erasures_due(self) -> str:
        """hash erasure id -> the user, "" once only the file is left (store/erasures/records.py;
        an erasure begins in the append script).
        9f2c01ab34de56780a1b -> "ada"."""
        return self._key("erasures-due")

    @property
    def links_made(self) -> str:
        """hash user id -> "", there while links are looked for (store/erasures/traces.py): the
        users whose documents with links were written since (script), and "" itself. "bob" -> ""."""
        return self._key("links-made")

    def erasure(self, erasure: str) -> str:
        """string, JSON, 400 days (store/erasures/records.py): a receipt, which names nobody.
        {"id":"9f2c...","partition":0,"sequence":57,"erased_ms":...}."""
        return self._key(f"erasure:{erasure}")

    @property
    def eraser(self) -> str:
        """string with expiry: the api process that erases deleted users now (a lease).
        "host:4711:9f2c01ab"."""
        return self._key("eraser")

    @property
    def audit(self) -> str:
        """stream, capped (store/audit.py): {who: "key 5c1d9a0077aa", act: "promoteModel", about:
        {"version":"4f2a..."}, result: "done"}."""
        return self._key("audit")

    @property
    def experiments(self) -> str:
        """string, JSON (store/experiments.py, compare-and-set): all experiments, the newest last.
        [{"id":"9f2c01","name":"more-variety","arms":[...],"state":"running",...}]."""
        return self._key("experiments")

    @property
    def webhooks(self) -> str:
        """string, JSON (store/webhooks/hooks.py, compare-and-set): all webhooks with their secrets,
        the oldest first. [{"id":"9f2c01ab34","url":"https://...","events":["alarm.opened"],...}]."""
        return self._key("webhooks")

    def webhook_deliveries(self, webhook: str) -> str:
        """hash delivery id -> JSON (store/webhooks/deliveries.py), the newest 200 of a webhook.
        msg_01a1... -> {"type":"training.ended","tries":1,"next_ms":null,"status":204,...}."""
        return self._key(f"webhook-deliveries:{webhook}")

    @property
    def webhooks_due(self) -> str:
        """zset "webhook delivery" -> ms from when on it is to be sent (same scripts).
        "9f2c01ab34 msg_01a1..." 1794999600000."""
        return self._key("webhooks-due")

    @property
    def webhooks_seen(self) -> str:
        """string, JSON (the sender, with the deliveries): how far what happens was looked at.
        {"jobs":["9f2c01ab34de5678"],"change":"1794999600000-0",...}."""
        return self._key("webhooks-seen")

    @property
    def webhook_sender(self) -> str:
        """string with expiry: the api process that sends to webhooks now (a lease).
        "host:4711:9f2c01ab"."""
        return self._key("webhook-sender")

    @property
    def api_keys(self) -> str:
        """hash key id -> JSON {"hash","role","name","created","revoked"} (store/api_keys.py)."""
        return self._key("api-keys")

    @property
    def api_keys_version(self) -> str:
        """string, random: another one after each change of api-keys (same script). 5c1d9a00."""
        return self._key("api-keys-version")

    @property
    def probe(self) -> str:
        """string, 10 seconds (server/probe.py): written to see whether the server writes."""
        return self._key("probe")

    @property
    def jobs(self) -> str:
        """zset job id -> ms of its creation (store/jobs/records.py), the newest 500. 9f2c01ab34de
        1794999600000."""
        return self._key("jobs")

    def job(self, job: str) -> str:
        """hash, 30 days (store/jobs/records.py): status="running" stage="fitting" progress=0.6
        model="fbgd" ... as JSON."""
        return self._key(f"job:{job}")

    @property
    def trainer(self) -> str:
        """string with expiry: the trainer that takes jobs now (a lease). "host:4711:9f2c01ab"."""
        return self._key("trainer")

    @property
    def schedule(self) -> str:
        """string, JSON with a version (store/jobs/schedule.py, compare-and-set).
        {"version":2,"cron":"0 4 * * *",...}."""
        return self._key("schedule")

    @property
    def last_retrain(self) -> str:
        """hash (store/jobs/schedule.py): start of the counts. at_ms=1794999600000 tries=0
        watermark.0=1000209 ..."""
        return self._key("last-retrain")

    @property
    def models(self) -> str:
        """zset version -> ms of its creation (models/published.py): the published models. 4f2a...
        1794999600000."""
        return self._key("models")

    def model(self, version: str) -> str:
        """hash (models/published.py): strategy=fbgd upload=9f2c01ab... chunks=4, record and
        manifest as JSON."""
        return self._key(f"model:{version}")

    def model_chunk(self, upload: str, index: int) -> str:
        """string: bytes of a model's arrays, see core/snapshot.py (models/published.py); an hour
        unless published."""
        return self._key(f"model-chunk:{upload}:{index}")

    @property
    def active_models(self) -> str:
        """hash strategy -> version that serves (models/registry.py, compare-and-set). fbgd ->
        4f2a..."""
        return self._key("active-models")

    @property
    def pinned_models(self) -> str:
        """hash strategy -> version that stays active until it is unpinned (models/registry.py).
        fbgd -> 4f2a..."""
        return self._key("pinned-models")

    def models_before(self, strategy: str) -> str:
        """list, capped: versions that were active before, the last one left
        (models/registry.py)."""
        return self._key(f"models-before:{strategy}")

    @property
    def model_changes(self) -> str:
        """stream, capped (models/registry.py): {strategy, version, before, action: "promoted", who,
        why}."""
        return self._key("model-changes")


@dataclass(frozen=True)
class PartitionKeys:
    """Keys of one partition. ``generation`` counts rebuilds: rows of two generations never mix."""

    namespace: str
    partition: int

    def _key(self, rest: str) -> str:
        return f"hr:{{{self.namespace}.{self.partition}}}:{rest}"

    @property
    def sequence(self) -> str:
        """string: number of the newest event in the log (append script). 1000209."""
        return self._key("sequence")

    @property
    def log(self) -> str:
        """stream ``<sequence>-0`` {d: packed entry, see log/codec.py, c: its CRC-32 as a decimal
        number, which earlier versions did not write, r: requests that are followed, see
        log/requests.py} (append script; trimmed in the commit)."""
        return self._key("log")

    @property
    def log_bytes(self) -> str:
        """string: bytes of entries not yet trimmed (append script adds, commit subtracts)."""
        return self._key("log-bytes")

    def append_receipt(self, process: str) -> str:
        """string "<counter> <sequence> <places of repeats>": the last answer given to this api
        process; lives a day. "17 1000209 0 3"."""
        return self._key(f"append:{process}")

    def last_move(self, digest: str) -> str:
        """string, a day (append scripts): sequence of the last merge that a user was part of;
        ``digest`` is that of the user's id, see log/last_move.py. 1000209."""
        return self._key(f"last-move:{digest}")

    @property
    def ids_noted(self) -> str:
        """hash id -> "" with expiry (append script): the latest ids of events, 12 bytes; a full one
        becomes ids-noted-before, see log/noted_ids.py."""
        return self._key("ids-noted")

    @property
    def ids_noted_before(self) -> str:
        """hash id -> "" with expiry (append script): the ids before those of ids-noted."""
        return self._key("ids-noted-before")

    @property
    def state(self) -> str:
        """hash (commit, rebuild): see log/state.py. epoch=3 watermark=1000209 generation=0
        fingerprint=dba9328c87f99b7d. identity=... is that of the namespace (store/identity)."""
        return self._key("state")

    @property
    def lease(self) -> str:
        """string with expiry: the current learner (liveness only; the epoch gives safety).
        "host:4711:9f2c01ab"."""
        return self._key("lease")

    def online(self, generation: int) -> str:
        """hash array name -> float64 bytes: shared state of the online model (commit)."""
        return self._key(f"online:{generation}")

    def user_row(self, generation: int, user: str) -> str:
        """string: one float32 row, see core/online/tables.py (commit)."""
        return self._key(f"user:{generation}:{user}")

    def item_row(self, generation: int, number: int) -> str:
        """string: one float32 row, see core/online/tables.py (commit)."""
        return self._key(f"item:{generation}:{number}")

    def item_rows(self, generation: int) -> str:
        """string, bitmap by item number: which item rows exist (commit); GETBIT 17 -> 1."""
        return self._key(f"items:{generation}")

    def counts(self, generation: int) -> str:
        """string, 24 bytes an item by number (commit): f64 weight of all positives, decayed weight,
        its ms."""
        return self._key(f"counts:{generation}")

    def transitions(self, generation: int) -> str:
        """hash item number -> the items that came before it (commit, row by row): f64 ms, i32
        numbers (below 0: its openings), f32 weights, u48 sequence, see
        core/transitions/table.py."""
        return self._key(f"transitions:{generation}")

    def transition_journal(self, generation: int) -> str:
        """stream ``<watermark>-0`` {d: changes of the rows, see core/transitions/journal.py}
        (commit; trimmed when all rows hold an entry)."""
        return self._key(f"transition-journal:{generation}")

    @property
    def users(self) -> str:
        """zset of user ids, score 0 (commit): index for listing, trainer and backup."""
        return self._key("users")

    def history(self, user: str) -> str:
        """string: 24-byte records, see history_record.py (commit: APPEND, or SET after deletion or
        compaction)."""
        return self._key(f"history:{user}")

    def trimmed(self, user: str) -> str:
        """string: u32 item numbers whose records were trimmed away, still seen (commit)."""
        return self._key(f"trimmed:{user}")

    def contexts(self, user: str) -> str:
        """string: where events of the history happened, entries of sequence and text, see
        profiles/contexts.py (commit: APPEND, or SET where the history is)."""
        return self._key(f"contexts:{user}")

    @property
    def deleted_items(self) -> str:
        """hash item number -> sequence of its deletion (commit): older records no longer count."""
        return self._key("deleted-items")

    def dedupe(self, number: int) -> str:
        """list of chunks, oldest left (commit): 16-byte digests of events that carried an id, by
        the producer that sent them, see profiles/dedupe_chunk.py. Number 0 is shared, and was the
        only one before there were producers."""
        return self._key(f"dedupe:{number}" if number else "dedupe")

    @property
    def dedupe_lists(self) -> str:
        """hash (commit): number of a list of ids -> its producer and how many of the newest count;
        clock -> how far their ages are. 1 -> "5f0c11aa 20000"."""
        return self._key("dedupe-lists")

    @property
    def inbox(self) -> str:
        """stream {event: JSON} (programs of others; `hedgerow ingest --inbox` removes what the api
        has stored, see store/inbox.py). {event: {"user":"ada","item":"heat","kind":"view"}}."""
        return self._key("inbox")

    @property
    def inbox_refused(self) -> str:
        """stream, capped (store/inbox.py): what of the inbox could not be accepted, and why.
        {entry: 1794999600000-0, code: out_of_scale, reason: ..., event: ...}."""
        return self._key("inbox-refused")

    @property
    def dead(self) -> str:
        """stream, ids = sequences of their last events (commit): {f: first sequence, r:
        reason, d: packed entry} of the log, which could not be learned, see log/dead_letters.py."""
        return self._key("dead")

    @property
    def changes(self) -> str:
        """stream, capped, ids = watermarks (commit): {f: watermark it follows, e: epoch, u: touched
        users, one a
        line, i: touched items, u32, or a: "1" for very many or all, p: answers, see
        codec.AWAITED_ANSWER}."""
        return self._key("changes")

    @property
    def impressions(self) -> str:
        """stream, capped (commit): {u: user, d: records as in a history}. Impressions are not
        learned and hide no item."""
        return self._key("impressions")

    @property
    def showings(self) -> str:
        """string, 8 bytes an item by number (commit): u32 impressions, u32 clicks; a rebuild keeps
        it."""
        return self._key("showings")

    @property
    def responses(self) -> str:
        """hash source in hex -> JSON (commit): click-through of slates by kind code; a source is
        strategy and model. Behind it may stand a context, whose events alone count.
        "00013fa2b4c1d2e3" -> {"last":2000,"events":{"6":100,"2":7}},
        "00013fa2b4c1d2e3|device=phone" -> {"last":1990,"events":{"6":30}}. Before it may stand
        nothing, for all events there: "|device=phone" -> {"last":1999,"events":{"2":9,"6":30}}. The
        lists of an arm of an experiment, and of a bucket of its users, are counted together:
        "~9f2c01=1.17" -> {"last":2000,"events":{"6":12}}."""
        return self._key("responses")

    @property
    def expert_history(self) -> str:
        """stream, capped (commit), a point every 1000 events: {d:
        {"learned":2000,"experts":[{"name":...},...]}}."""
        return self._key("expert-history")

    @property
    def online_snapshot(self) -> str:
        """string, JSON (learner, outside the commit, derived):
        {"version":"9c1e...","upload":"9f2c01ab","chunks":2,
        "manifest":{...}}: the newest item rows without accumulators, see
        learning/following/views.py."""
        return self._key("online-snapshot")

    def online_snapshot_chunk(self, upload: str, index: int) -> str:
        """string: bytes of an online snapshot; expires minutes after the next one is published."""
        return self._key(f"online-snapshot-chunk:{upload}:{index}")

    @property
    def mixture(self) -> str:
        """string, JSON (follower in the learner process, derived):
        {"watermark":2000,"judged":310,"rankers":
        {"fbgd":{"weight":0.6,"version":"4f2a...","judged":310,"mrr":0.037,"ndcg10":0.041}},...}."""
        return self._key("mixture")
