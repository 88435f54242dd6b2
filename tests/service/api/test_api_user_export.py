"""The export of a user: everything that is stored, and nothing of anybody else."""

from service.store.keys import PartitionKeys
from tests.api import Api


def test_everything_that_is_known_of_a_user_is_exported(shop: Api) -> None:
    document = {"features": {"age": 31, "about": "hedges"}, "links": [{"user": "bob"}]}
    shop("PUT", "/v1/users/ada", json=document)
    shop("PUT", "/v1/users/bob", json={"links": [{"user": "ada", "weight": 0.5}, {"user": "eve"}]})
    shop("PUT", "/v1/users/eve", json={"links": [{"user": "bob"}]})
    seen = [{"user": user, "item": "i9", "kind": "impression"} for user in ("ada", "eve")]
    shop("POST", "/v1/events?wait=learned", json=seen)
    placed = {"user": "ada", "item": "i8", "kind": "view", "context": {"device": "phone"}}
    shop("POST", "/v1/events?wait=learned", json=placed)
    # no list reads events of deleted items, but they are stored
    assert shop("DELETE", "/v1/items/i5").json()["learned"]
    answer = shop("GET", "/v1/users/ada/export")
    assert answer.headers["cache-control"] == "no-store"
    export = answer.json()
    assert export["document"] == {
        "version": 1,
        "features": {"age": 31, "about": "hedges"},
        "links": [{"user": "bob", "weight": 1.0}],
        "extra": {},
    }
    assert export["linked_by"] == [{"user": "bob", "weight": 0.5}]
    rated = [(one["item"], one["kind"], one["rating"]) for one in export["events"]]
    assert rated == [
        ("i3", "rating", 5.0),
        ("i5", "rating", 4.0),
        ("i7", "rating", 1.0),
        ("i8", "view", None),
    ]
    assert [one["context"] for one in export["events"]] == [{}, {}, {}, {"device": "phone"}]
    assert [(one["item"], one["kind"]) for one in export["impressions"]] == [("i9", "impression")]
    assert len(export["row"]) == shop.runtime.model.layout.width
    assert (export["seen"], export["topics"]) == ([], [])
    keys = PartitionKeys(shop.settings.namespace, 0)
    state = shop.run(shop.runtime.profiles.state(0))
    assert export["seen_through"] == f"0:{state.watermark}"
    assert shop.run(shop.runtime.redis.strlen(keys.history("ada"))) == 24 * len(rated)


def test_of_an_unknown_or_deleted_user_everything_is_empty(shop: Api) -> None:
    assert shop("DELETE", "/v1/users/ada").json()["learned"]
    for user in ("ada", "nobody"):
        export = shop("GET", f"/v1/users/{user}/export").json()
        assert export["document"] == {"version": 0, "features": {}, "links": [], "extra": {}}
        empty = ("linked_by", "events", "seen", "impressions", "topics")
        assert [export[name] for name in empty] == [[]] * 5
        assert export["row"] is None
