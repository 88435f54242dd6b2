"""An order without a recipe whose families fail late: the others go on."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from core.errors import Diverged
from service.errors import InvalidTraining
from service.settings import Settings
from service.store.namespace import open_namespace
from service.training.all_families.candidates import Tried
from service.training.all_families.job import AllFamilies


class Training:
    """A recipe whose last fit goes well or does not."""

    def __init__(self, *, diverges):
        self.diverges = diverges

    def judge(self, data, model, config):
        return SimpleNamespace(metrics={}, decision={"outcome": "promoted"})

    def refine(self, data, judged):
        if self.diverges:
            raise Diverged("the fit reached NaN")

    def record_of(self, snapshot, judged):
        return SimpleNamespace(version="v1")


def fitted(name, *, diverges):
    tried = Tried(name, name, serves=False, chosen=True)
    training = Training(diverges=diverges)
    return SimpleNamespace(training=training, tried=tried, data=None, config=None, model=None)


@pytest.fixture
def job(client, namespace):
    settings = Settings(namespace=namespace)
    reporter = SimpleNamespace(stage=lambda *_, **__: nullcontext())
    room = open_namespace(client, settings)
    made = AllFamilies(settings, client, room, SimpleNamespace(id="j"), reporter)
    made._registry = SimpleNamespace(publish=lambda *_, **__: None)
    return made


def test_a_family_that_fails_late_is_left_out(job):
    good, bad = fitted("fbgd", diverges=False), fitted("neighbours", diverges=True)
    published = job._published([bad, good])
    assert [tried.model for _, tried, _ in published] == ["fbgd"]
    assert (bad.tried.chosen, bad.tried.why) == (False, "the fit reached NaN")
    assert bad.tried.version is None


def test_a_job_fails_if_all_that_was_chosen_fails(job):
    with pytest.raises(InvalidTraining, match="no model could be trained"):
        job._published([fitted("neighbours", diverges=True)])
    assert job._published([]) == []
