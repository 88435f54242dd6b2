import pytest

from service.serving.copies.popularity import Popularity
from service.store.connection import connect_async
from service.store.profiles.counters import CountsReader


@pytest.fixture
def popularity_of(learned_api, redis_url, namespace):
    async def orders():
        async with connect_async(redis_url, role="test") as client:
            popularity = Popularity(CountsReader(client, namespace, 1), 168.0)
            await popularity.refresh()
            return popularity.current

    return lambda: learned_api.run(orders())


def test_an_api_process_knows_what_is_popular(learned_api, popularity_of):
    assert popularity_of().popular[0].size == 0
    for user in ("ann", "bob", "eve"):
        learned_api.rate(user, "a", 2)
        learned_api.rate(user, "b", 5)
    sequence = learned_api.rate("ann", "c", 4)
    learned_api("GET", f"/v1/users/ann/predictions/a?min_sequence={sequence}")
    orders = popularity_of()
    assert orders.popular[0].tolist() == [1, 2]
    assert orders.popular[1].tolist() == [3.0, 1.0]
    assert orders.trending[0].tolist() == [1, 2]
    assert orders.seen_through == {0: 7}
