"""What the histories hold after a flow."""

from collections import Counter
from typing import Any

from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.profiles.history_record import read_history, sequences


def recorded(client: Any, namespace: str) -> Counter[tuple[str, str]]:
    """Count each (user, item) in the histories; every sequence must occur once."""
    keys = PartitionKeys(namespace, 0)
    names = [name.decode() for name in client.lrange(NamespaceKeys(namespace).item_ids, 0, -1)]
    found: Counter[tuple[str, str]] = Counter()
    seen: Counter[int] = Counter()
    for user in (name.decode() for name in client.zrange(keys.users, 0, -1)):
        history = read_history(client.get(keys.history(user)))
        found.update((user, names[item]) for item in history["item"].tolist())
        seen.update(sequences(history).tolist())
    assert set(seen.values()) <= {1}
    return found
