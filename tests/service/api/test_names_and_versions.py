"""What names a model in answers: version, short version, strategy and the name for people."""

from typing import Any

import pytest

from service.ranking.families import FAMILIES, title_of
from tests.api import Api
from tests.server import wait_until
from tests.service.shop import RECOMMENDATIONS, activate, get, post


@pytest.mark.parametrize(
    "path",
    [
        RECOMMENDATIONS,
        "/v1/users/ada/predictions/i3",
        "/v1/users/ada/similar",
        "/v1/items/i3/similar",
        "/v1/topics",
        "/v1/users/ada/topics",
        "/v1/experts",
    ],
)
def test_a_version_has_its_short_form_beside_it(shop: Api, redis_url: str, path: str) -> None:
    activate(shop, redis_url)
    answer = get(shop, path)
    assert len(answer["short_version"]) == 12
    assert answer["short_version"] in answer["model_version"]


def test_without_a_model_there_is_no_short_version(shop: Api) -> None:
    assert get(shop, "/v1/topics")["short_version"] is None
    assert post(shop, "/v1/items/audience", item="i3")["short_version"] is None
    popular = get(shop, "/v1/popular")
    assert (popular["model_version"], popular["short_version"]) == ("popular", None)


def test_a_list_says_who_made_it_and_what_its_scores_are(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)

    def of(path: str, **more: Any) -> tuple[str, str, str]:
        slate = get(shop, path, **more)
        return slate["strategy"], slate["title"], slate["score_kind"]

    assert of("/v1/popular") == ("popular", "Popular", "count")
    assert of("/v1/trending") == ("trending", "Trending", "count")
    assert of("/v1/latest") == ("latest", "Latest", "days")
    assert of(RECOMMENDATIONS, model="fbgd") == ("fbgd", "Matrix factorisation", "likeness")
    assert of("/v1/items/i3/similar") == ("fbgd", "Matrix factorisation", "likeness")
    online = ("online", "Online model", "stars")
    wait_until(lambda: of(RECOMMENDATIONS, model="online") == online)


def test_each_strategy_has_a_name_of_its_own() -> None:
    titles = [title_of(strategy) for strategy in (*FAMILIES, "mixture")]
    assert len(set(titles)) == len(titles)
    assert not set(titles) & set(FAMILIES)
