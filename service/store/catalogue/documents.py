"""Documents of items and users: JSON with a version, changed by compare-and-set.

A document is replaced only if it is still what the writer read, so no change is lost. A deleted
item leaves a tombstone (its number lives on in histories); a deleted user leaves nothing. Each
change of an item adds an entry to a capped stream, see ``feed``.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, cast

import msgspec
import redis.asyncio
from redis import exceptions as redis_errors

from service.errors import ServiceError, VersionConflict
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.identity.known import Known
from service.store.identity.scripts import checking
from service.store.keys import NamespaceKeys

Body = dict[str, Any]
Edit = Callable[[Body | None], Body | None] | Body | None
"""Maps the body of a document (None: absent) to its new body (None: delete it), or is the new body,
whatever the document was, even one that cannot be read."""

CHANGES_KEPT = 100_000
"""Approximate length of the stream of changes; a reader further behind reads all documents."""
ATTEMPTS = 16
"""Number of times a change is tried if others change the same document."""

_SCRIPT, _SCRIPT_SHA = checking(
    resources.files(__package__).joinpath("replace_document.lua").read_text()
)


class UnreadableDocument(ServiceError):
    """What is stored is no document that this code wrote: something else changed its bytes."""

    def __init__(self) -> None:
        super().__init__(
            "the stored document cannot be read, because something else has changed its bytes in "
            "the store: replace it with PUT, delete it, or bring back a backup"
        )


@dataclass(frozen=True)
class Document:
    """A document as it is stored.

    Version 0 means never written; ``body`` is None for an absent or deleted document.
    """

    version: int = 0
    body: Body | None = None
    packed: bytes = b""
    created_ms: int | None = None
    """When an item was written for the first time, or again after a deletion; None for a user, and
    for an item that an earlier version of this code wrote."""

    @property
    def deleted(self) -> bool:
        """Whether the document is a tombstone."""
        return bool(self.version) and self.body is None


class Catalogue:
    """The documents of a namespace."""

    def __init__(
        self,
        client: redis.asyncio.Redis,
        namespace: str,
        *,
        known: Known | None = None,
        changes_kept: int = CHANGES_KEPT,
    ) -> None:
        """``known``: which store may be written to; any store without it."""
        self._client = client
        self._known = known or Known()
        self._changes_kept = changes_kept
        self._keys = NamespaceKeys(namespace)

    async def items(self, numbers: Sequence[int]) -> list[Document]:
        """Return the document of each item number."""
        return await self._read([self._keys.item_document(number) for number in numbers])

    async def users(self, users: Sequence[str]) -> list[Document]:
        """Return the document of each user."""
        return await self._read([self._keys.user_document(user) for user in users])

    async def change_item(
        self, number: int, edit: Edit, if_version: int | None = None, *, token: str = ""
    ) -> Document:
        """Apply ``edit`` to an item's document; VersionConflict if it is not at ``if_version``.

        ``token`` is that of the store that gave the number; by default that of now.
        """
        return await self._change(self._item(number, token), edit, if_version)

    async def change_user(self, user: str, edit: Edit, if_version: int | None = None) -> Document:
        """Apply ``edit`` to a user's document; VersionConflict if it is not at ``if_version``."""
        return await self._change(self._user(user), edit, if_version)

    async def replace_items(self, bodies: Mapping[int, Body], *, token: str = "") -> None:
        """Replace the documents of many items, at whatever version they are."""
        items = {self._item(number, token): body for number, body in bodies.items()}
        await self._replace_all(items)

    async def replace_users(self, bodies: Mapping[str, Body]) -> None:
        """Replace the documents of many users, at whatever version they are."""
        await self._replace_all({self._user(user): body for user, body in bodies.items()})

    async def user_ids(self, after: str | None, limit: int) -> list[str]:
        """Return up to ``limit`` users that have a document, ordered by the bytes of their ids."""
        first = "-" if after is None else b"(" + after.encode()
        with store_errors():
            answer = await cast(
                "Awaitable[list[bytes]]",
                self._client.zrangebylex(self._keys.user_documents, first, "+", 0, limit),
            )
        return [user.decode() for user in answer]

    async def _read(self, keys: list[str]) -> list[Document]:
        if not keys:
            return []
        with store_errors():
            answer = await cast("Awaitable[list[bytes | None]]", self._client.mget(keys))
        return [unpacked(packed) for packed in answer]

    async def _read_to_replace(self, keys: list[str]) -> list[Document]:
        """*Same as* ``_read``, but what cannot be read has a version that no client has seen."""
        with store_errors():
            answer = await cast("Awaitable[list[bytes | None]]", self._client.mget(keys))
        documents = []
        for packed in answer:
            try:
                documents.append(unpacked(packed))
            except UnreadableDocument:
                documents.append(Document(now_ms(), packed=packed or b""))
        return documents

    async def _change(self, target: "_Target", edit: Edit, if_version: int | None) -> Document:
        read = self._read if callable(edit) else self._read_to_replace
        for _ in range(ATTEMPTS):
            [old] = await read([target.key])
            if if_version is not None and old.version != if_version:
                raise VersionConflict(
                    f"the document is at version {old.version}, not {if_version}: read it again"
                )
            body = edit(old.body) if callable(edit) else edit
            new = _next(old, body, is_item=bool(target.number))
            if await self._replace(target, old, new):
                return new
        raise VersionConflict("others keep changing the document: try again")

    async def _replace_all(self, bodies: "Mapping[_Target, Body]") -> None:
        documents = await self._read_to_replace([target.key for target in bodies])
        with store_errors():
            pipe = self._client.pipeline(transaction=False)
            # in the same call: a server that was started anew meanwhile knows no script
            pipe.execute_command("SCRIPT LOAD", _SCRIPT)
            for (target, body), old in zip(bodies.items(), documents, strict=True):
                new = _next(old, body, is_item=bool(target.number))
                pipe.execute_command("EVALSHA", _SCRIPT_SHA, *self._arguments(target, old, new))
            _, *replaced = await pipe.execute()
        for (target, body), done in zip(bodies.items(), replaced, strict=True):
            if not done:
                await self._change(target, body, None)

    async def _replace(self, target: "_Target", old: Document, new: Document) -> bool:
        send: Callable[..., Awaitable[Any]] = self._client.execute_command
        arguments = self._arguments(target, old, new)
        with store_errors():
            try:
                return bool(await send("EVALSHA", _SCRIPT_SHA, *arguments))
            except redis_errors.NoScriptError:
                return bool(await send("EVAL", _SCRIPT, *arguments))

    def _arguments(self, target: "_Target", old: Document, new: Document) -> tuple[Any, ...]:
        keys = self._keys
        touched = (
            *(target.key, keys.user_documents, keys.catalogue_changes, keys.settings),
            keys.links_made,
        )
        has_links = bool(target.name and new.body and new.body.get("links"))
        values = (
            *(old.packed, new.packed, target.name, target.number),
            *(self._changes_kept, target.token, int(has_links)),
        )
        return (len(touched), *touched, *values)

    def _item(self, number: int, token: str) -> "_Target":
        key = self._keys.item_document(number)
        return _Target(key, number=str(number), token=token or self._known.token)

    def _user(self, user: str) -> "_Target":
        return _Target(self._keys.user_document(user), name=user, token=self._known.token)


@dataclass(frozen=True)
class _Target:
    """The key of a document, with a user's name in the index or an item's number in the changes.

    ``token`` is that of the store that it belongs to.
    """

    key: str
    token: str
    name: str = ""
    number: str = ""


def unpacked(packed: bytes | None) -> Document:
    """Return a stored document."""
    if packed is None:
        return Document()
    try:
        stored = msgspec.json.decode(packed, type=dict[str, Any])
        version, created_ms = stored.pop("version"), stored.pop("created_ms", None)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError) as error:
        raise UnreadableDocument from error
    body = None if stored.pop("deleted", False) else stored
    return Document(version, body, packed, created_ms)


def _next(old: Document, body: Body | None, *, is_item: bool) -> Document:
    """Return the successor of ``old``; without a body, a tombstone for an item, none for a user."""
    version = old.version + 1
    if body is not None:
        created_ms = _created_ms(old) if is_item else None
        created = {} if created_ms is None else {"created_ms": created_ms}
        packed = msgspec.json.encode({"version": version, **created, **body})
        return Document(version, body, packed, created_ms)
    if not is_item:
        return Document()
    return Document(version, None, msgspec.json.encode({"version": version, "deleted": True}))


def _created_ms(old: Document) -> int | None:
    """Return when an item was created that follows ``old``."""
    return now_ms() if old.body is None else old.created_ms
