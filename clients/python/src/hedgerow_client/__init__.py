"""Client of Hedgerow, a recommendation service: send events, get recommendations.

``Client`` and ``AsyncClient`` have a method for each operation of the service, with the types in
``hedgerow_client.types``. All errors derive from ``HedgerowError``.
"""

from hedgerow_client import errors, types
from hedgerow_client.async_client import AsyncClient
from hedgerow_client.async_streams import AsyncEventStream
from hedgerow_client.client import Client
from hedgerow_client.errors import HedgerowError
from hedgerow_client.receipts import Batch, Receipt, Refusal
from hedgerow_client.retries import Retries
from hedgerow_client.streams import EventStream

__all__ = [
    "AsyncClient",
    "AsyncEventStream",
    "Batch",
    "Client",
    "EventStream",
    "HedgerowError",
    "Receipt",
    "Refusal",
    "Retries",
    "errors",
    "types",
]
