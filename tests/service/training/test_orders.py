"""Orders are checked by settings alone: an api process loads no code that fits."""

import subprocess
import sys

import pytest

from service.errors import InvalidTraining
from service.training.orders import TRAINED, check_order
from service.training.recipes import SERVED

FITTING = {
    "core.batch.fbgd.model",
    "core.batch.ocmf.fit",
    "core.batch.ocmf.feature_use",
    "core.batch.contexts.ranker",
    "core.batch.shrinkage",
    "core.search.search",
    "core.labels.exmlds",
    "core.labels.items",
    "core.ordinal.qs3orao",
    "core.ordinal.fit_stars",
    "service.training.recipes",
}


def loaded(*modules: str) -> set[str]:
    """Return the modules that a fresh process has after importing these."""
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return set(done.stdout.split())


def test_the_api_loads_no_fitting_code_to_check_orders() -> None:
    assert not FITTING & loaded("service.api.models.jobs", "service.api.models.schedule")


def test_every_recipe_that_can_be_ordered_can_be_trained() -> None:
    assert TRAINED.keys() == SERVED.keys()
    assert all(SERVED[name].settings is settings for name, settings in TRAINED.items())


@pytest.mark.parametrize("model", TRAINED)
def test_the_usual_settings_can_be_ordered(model: str) -> None:
    settings = TRAINED[model]
    stated = {n: v for n, v in settings.values(settings.base).items() if v is not None}
    check_order(model, stated)


def test_an_unknown_recipe_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidTraining, match="no model 'magic' to train; there are: fbgd, ocmf"):
        check_order("magic", {})


@pytest.mark.parametrize(
    ("model", "name", "value", "says"),
    [
        ("fbgd", "colour", 1, "fbgd has no parameter 'colour'; it has: factors, alpha0"),
        ("fbgd", "factors", "many", "factors must be a number, not 'many'"),
        ("fbgd", "factors", True, "factors must be a number, not True"),
        ("fbgd", "factors", 2.5, "factors must be a whole number, not 2.5"),
        ("fbgd", "factors", 2_049, "factors must be at most 2048: more need too much memory"),
        ("fbgd", "reg", float("nan"), "reg must be a number between"),
        ("fbgd", "reg", 1e300, "reg must be a number between"),
        ("fbgd", "reg", -1, "fbgd: reg must be above 0"),
        ("ocmf-sq-sq", "weight", 0.5, "ocmf-sq-sq has no parameter 'weight'"),
        ("ocmf-lr-wsq", "solver", 1, "ocmf-lr-wsq has no parameter 'solver'"),
        ("ordinal", "labelled", 1, "ordinal: labelled must be in 2 .. 1000000, not 1"),
    ],
)
def test_a_bad_setting_is_refused_with_what_is_wrong(
    model: str, name: str, value: object, says: str
) -> None:
    with pytest.raises(InvalidTraining) as refused:
        check_order(model, {name: value})
    assert says in str(refused.value)
