"""API keys: made, listed and revoked by an admin."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from service.api import schemas
from service.api.routing import Route, Runtime
from service.api.schemas import Answer, Page
from service.api.times import Time, in_one_format, rfc3339_or_none
from service.http.acts import note_about
from service.http.documentation import problems
from service.http.faults import KEY_ID
from service.store.api_keys import MOST_DAYS, ApiKey, Role, ends_after

router = APIRouter(route_class=Route, tags=["admin"])


class NewKey(schemas.Request):
    """A key to create."""

    role: Role
    """What the key may do: `read`; `write`, feedback and documents too; `admin`, everything."""
    name: Annotated[str, Field(min_length=1, max_length=100)]
    """A name for the user of the key; it appears in the list of keys."""
    days: Annotated[float, Field(gt=0, le=MOST_DAYS)] | None = None
    """Days after which the key stops working; null: it lasts until it is revoked."""


class Key(Answer):
    """A key without its secret."""

    id: str
    """Names the key in routes and records; it is not a secret."""
    name: str
    """Who uses the key."""
    role: Role
    """What the key may do."""
    created: Time
    """When it was made."""
    revoked: Time | None
    """When it was revoked; null: it was not."""
    expires: Time | None
    """When it stops working, or did; null: never."""


class KeyPage(Page[Key]):
    """API keys, the oldest first."""


class CreatedKey(Key):
    """A key with its secret, which is shown only once."""

    secret: str
    """Send it as `Authorization: Bearer ...`."""


NewKeyInput = Annotated[
    NewKey, Body(openapi_examples={"shop": {"value": {"role": "write", "name": "the shop"}}})
]
KeyId = Annotated[str, Path(pattern=KEY_ID, description="The key's id, not its secret.")]


@router.post(
    "/v1/admin/keys",
    status_code=201,
    summary="Make an API key",
    responses=problems("conflict"),
)
async def create_key(
    request: Request, runtime: Runtime, body: NewKeyInput, response: Response
) -> CreatedKey:
    """Only this answer contains the secret; the service stores a hash. Once there is a key, every
    request needs one, except `/healthz`, `/readyz`, `/docs`, `/openapi.json`, `/llms.txt` and the
    files of `/console`. This applies at once in this process and to all writes, and within 250 ms
    to reads in other processes. If there is no valid admin key that never expires, the new key must
    be such a key; otherwise the answer is 409 `conflict`.
    """
    response.headers["cache-control"] = "no-store"
    key, secret = await runtime.keys.create(body.role, body.name, ends_after(body.days))
    request.app.state.key_check.note(key)
    note_about(request, key=key.id, role=key.role)
    return CreatedKey(**_shown(key), secret=secret)


@router.get("/v1/admin/keys", summary="List API keys")
async def list_keys(runtime: Runtime) -> KeyPage:
    """All keys, revoked ones too, without their secrets."""
    ring = await runtime.keys.ring()
    keys = sorted(ring.keys.values(), key=lambda key: (key.created, key.id))
    return KeyPage(items=[Key(**_shown(key)) for key in keys], next_cursor=None)


@router.delete(
    "/v1/admin/keys/{key}",
    summary="Revoke an API key",
    responses=problems("conflict", "not_found"),
)
async def revoke_key(request: Request, runtime: Runtime, key: KeyId) -> Key:
    """The key stops working at once in this process and for all writes, and within 250 ms for reads
    in other processes. It stays in the list. 409 `conflict` if it is the last admin key that never
    expires: make another one first.
    """
    revoked = await runtime.keys.revoke(key)
    request.app.state.key_check.note(revoked)
    return Key(**_shown(revoked))


def _shown(key: ApiKey) -> dict[str, Any]:
    hidden = {"hash", "expires_ms"}
    shown = {name: value for name, value in asdict(key).items() if name not in hidden}
    shown["expires"] = rfc3339_or_none(key.expires_ms)
    times = {name: in_one_format(shown[name]) for name in ("created", "revoked") if shown[name]}
    return shown | times
