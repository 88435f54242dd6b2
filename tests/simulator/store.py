"""The content of the store, as it can be kept and brought back."""

from service.store.connection import Client


def content_of(client: Client) -> dict[bytes, bytes]:
    """Return what is under each key."""
    keys = list(client.scan_iter(count=1_000))
    pipe = client.pipeline(transaction=False)
    for key in keys:
        pipe.dump(key)
    return dict(zip(keys, pipe.execute(), strict=True))


def replace_content(client: Client, content: dict[bytes, bytes]) -> None:
    """Put a content in the place of what is there, as in a server that was started anew."""
    pipe = client.pipeline(transaction=False)
    pipe.flushdb()
    pipe.script_flush()
    for key, value in content.items():
        pipe.restore(key, 0, value)
    # a replica that is promoted begins a new run, as a server that starts does
    pipe.replicaof("127.0.0.1", "1")
    pipe.replicaof("NO", "ONE")
    pipe.execute()
