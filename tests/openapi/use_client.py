"""Uses the generated Python client against a running service: URL as the only argument.

It runs where the client's dependencies are installed, which is not where the tests run.
"""

import datetime
import sys

from hedgerow_client.api.feedback import get_history, send_feedback
from hedgerow_client.api.items import list_items, write_item
from hedgerow_client.api.recommendations import recommend
from hedgerow_client.models import (
    EventPage,
    Feedback,
    Item,
    ItemBody,
    ItemPage,
    Problem,
    SendFeedbackWait,
    Slate,
    Written,
)

from hedgerow_client import Client

client = Client(base_url=sys.argv[1], timeout=180)
for user, items in {"ada": "ab", "grace": "abc", "mary": "bcd"}.items():
    rows = [Feedback(user=user, item=item, rating=5) for item in items]
    written = send_feedback.sync(client=client, body=rows, wait=SendFeedbackWait.LEARNED)
    assert isinstance(written, Written), written
    assert (written.accepted, written.rejected) == (len(rows), [])

described = write_item.sync("a", client=client, body=ItemBody(categories=["film"]))
assert isinstance(described, Item), described
assert (described.version, described.categories) == (1, ["film"])

listed = list_items.sync(client=client, limit=2)
assert isinstance(listed, ItemPage), listed
assert [one.item for one in listed.items] == ["a", "b"]
assert listed.next_cursor

slate = recommend.sync("ada", client=client, k=2, min_sequence=written.sequence)
assert isinstance(slate, Slate), slate
assert {one.item for one in slate.items} == {"c", "d"}

history = get_history.sync("ada", client=client)
assert isinstance(history, EventPage), history
assert all(isinstance(one.timestamp, datetime.datetime) for one in history.items)

refused = send_feedback.sync(client=client, body=Feedback(user="ada", item="a", rating=11))
assert isinstance(refused, Problem), refused
assert refused.code == "out_of_scale"
