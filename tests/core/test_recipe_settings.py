import pytest

from core.batch.contexts import config as contexts
from core.batch.fbgd import config as fbgd
from core.batch.ocmf import config as ocmf
from core.errors import ConfigError
from core.labels import config as labels
from core.ordinal import config as ordinal
from core.recipe_settings import MOST_FACTORS, RecipeSettings

TRAINED = [one for module in (fbgd, ocmf, contexts, labels, ordinal) for one in module.RECIPES]
ALL = [*TRAINED, *ocmf.POINT_RECIPES, *labels.POINT_RECIPES]
[FBGD] = fbgd.RECIPES


@pytest.mark.parametrize("settings", ALL, ids=lambda one: one.name)
def test_values_of_the_usual_settings_give_them_back(settings: RecipeSettings[object]) -> None:
    assert settings.config(settings.values(settings.base)) == settings.base
    assert settings.parsed({}) == {}


@pytest.mark.parametrize("settings", ALL, ids=lambda one: one.name)
def test_texts_of_the_usual_settings_give_them_back(settings: RecipeSettings[object]) -> None:
    texts = {name: str(value) for name, value in settings.all_values(settings.base).items()}
    assert settings.config(settings.parsed(texts)) == settings.base


@pytest.mark.parametrize("settings", ALL, ids=lambda one: one.name)
def test_settings_that_define_a_recipe_cannot_be_stated(settings: RecipeSettings[object]) -> None:
    assert not settings.fixed & {*settings.names, *settings.offline}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("colour", "1", "--set colour: this model has no such setting; it has factors, alpha0"),
        ("factors", "2.5", "--set factors=2.5: give a whole number"),
        ("reg", "much", "--set reg=much: give a number"),
        ("factors", str(MOST_FACTORS + 1), f"give at most {MOST_FACTORS}"),
    ],
)
def test_an_invalid_text_is_refused(name: str, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        FBGD.parsed({name: text})
    assert says in str(refused.value)


def test_settings_of_a_model_and_of_its_descent_are_one_flat_list() -> None:
    svdfeature = next(one for one in contexts.RECIPES if one.name == "svdfeature")
    config = svdfeature.config(svdfeature.parsed({"factors": "8", "optimiser": "plain"}))
    assert (config.factors, config.descent.optimiser) == (8, "plain")
    assert svdfeature.values(config)["optimiser"] == "plain"


def test_settings_of_earlier_versions_are_read() -> None:
    stored = {"draw": 2.0, "factors": 8, "forgotten": 3}
    assert FBGD.stored(stored) == FBGD.config({"shrinkage": 2.0, "factors": 8})
    assert FBGD.ordered({"draw": 2.0}) == {"shrinkage": 2.0}
    assert FBGD.checked({"draw": 2.0}) == FBGD.config({"shrinkage": 2.0})


def test_a_training_keeps_what_only_an_evaluation_searches() -> None:
    settings = ocmf.RECIPES[0]
    assert settings.ordered({"factors": 8}) == {"features": "beside", "graph": 0.0, "factors": 8}
    assert settings.ordered({"graph": 0.5})["graph"] == 0.5
