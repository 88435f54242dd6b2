"""Streams as URLs: what they become, and what is refused before anything starts."""

import pytest

from service.errors import Misconfigured
from service.ingest_urls import ingest_arguments, ingest_problem
from service.settings import Settings
from service.settings_loading import environment, load_settings

URL = "nats://broker.example:4222/EVENTS?subject=events.%3E&batch=50"


def test_a_url_becomes_the_options_of_the_verb() -> None:
    assert ingest_arguments(URL) == [
        "--nats=nats://broker.example:4222",
        "--stream=EVENTS",
        "--subject=events.>",
        "--batch=50",
    ]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("amqp://broker/EVENTS", "nats://HOST"),
        ("nats:///EVENTS", "nats://HOST"),
        ("EVENTS", "nats://HOST"),
        ("nats://broker:4222/", "names no stream"),
        ("nats://me:word@broker/EVENTS", "credentials"),
        ("nats://broker/EVENTS?topic=x", "no option 'topic'"),
    ],
)
def test_what_cannot_be_read_is_refused(url: str, says: str) -> None:
    assert says in str(ingest_problem(url))


def test_several_streams_stand_in_one_variable_and_reach_a_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEDGEROW_INGEST", f"{URL} nats://other/CLICKS")
    settings = load_settings()
    assert settings.ingest == (URL, "nats://other/CLICKS")
    monkeypatch.setenv("HEDGEROW_INGEST", environment(settings)["HEDGEROW_INGEST"])
    assert load_settings().ingest == settings.ingest
    assert Settings(ingest=(URL,)).ingest == (URL,)


@pytest.mark.parametrize(
    "url",
    [
        "nats://broker/EVENTS?topic=hidden",
        "nats://me:hidden@broker/EVENTS",
        "nats://hidden@broker/EVENTS",
        "nats://me:a/hidden?b@broker/EVENTS",
    ],
)
def test_a_password_in_a_url_is_not_said(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("HEDGEROW_INGEST", url)
    with pytest.raises(Misconfigured, match="broker") as refused:
        load_settings()
    assert "hidden" not in str(refused.value)
