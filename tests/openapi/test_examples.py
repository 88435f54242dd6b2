"""The examples of answers were really received, and are what the service answers today."""

from typing import Any

import pytest

from service.api.documentation import examples
from service.http.codes import CODES
from tests.openapi.document import DOCUMENT, OPERATIONS, Operation
from tests.openapi.promises import unlike
from tests.openapi.recording import Recording, differences
from tests.openapi.story import told

pytestmark = pytest.mark.flow

of_each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.id)


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    return examples()


@pytest.fixture(scope="module")
def received(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return told(tmp_path_factory.mktemp("story"))


@of_each_operation
def test_every_good_answer_has_an_example_of_its_schema(operation: Operation) -> None:
    for status, response in operation.responses("2"):
        for content in response["content"].values():
            assert "example" in content, f"{operation.id} {status}: run `make openapi-examples`"
            assert unlike(content["schema"], content["example"]) is None


def test_every_code_of_an_operation_has_an_example() -> None:
    shown = DOCUMENT["components"]["examples"]
    for operation in OPERATIONS:
        for response in operation.says["responses"].values():
            for code in response.get("x-codes", ()):
                assert shown[code]["value"]["status"] == CODES[code].status
                for content in response["content"].values():
                    assert code in content["examples"]


def test_the_service_still_answers_as_in_the_examples(
    received: Recording, recorded: dict[str, Any]
) -> None:
    problems = recorded.pop("problems")
    assert received.problems.keys() == problems.keys()
    now = {name: answers.keys() for name, answers in received.answers.items()}
    assert now == {name: answers.keys() for name, answers in recorded.items()}
    changed = [
        difference
        for name, answers in recorded.items()
        for status, answer in answers.items()
        for difference in differences(answer, received.answers[name][status], f"{name} {status}")
    ]
    assert changed == [], "run `make openapi-examples`"
