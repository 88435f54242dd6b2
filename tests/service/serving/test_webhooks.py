"""What happens reaches webhooks: signed, once, in spite of failures, and nowhere it must not."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from structlog.testing import capture_logs

from service.errors import InvalidWebhook
from service.serving.alarms import Alarm
from service.serving.webhooks.news import Records, Settling
from service.serving.webhooks.receivers import Outcome, Receivers, check_url
from service.serving.webhooks.sender import LEASE_MS, WebhookSender, WebhookStore
from service.store.clock import now_ms
from service.store.experiments import Arm, Experiments
from service.store.jobs.job import TrainingOrder
from service.store.keys import NamespaceKeys
from service.store.log.lease import Lease
from service.store.webhooks.deliveries import KEPT, Deliveries, new_delivery
from service.store.webhooks.hooks import Webhooks
from service.store.webhooks.records import EVENT_TYPES, TEST, Delivery, Webhook
from tests.api import Api
from tests.given_server import Certificates
from tests.server import wait_until
from tests.service.shop import activate
from tests.webhook_receiver import Receiver

ORDER = TrainingOrder("fbgd", {}, 0.0, "a test", "order")
NO_ALARMS = tuple(one for one in EVENT_TYPES if not one.startswith("alarm"))


class Sending:
    """A sender without the pauses of the service, driven by the test."""

    def __init__(self, api: Api, client: Redis, **changes: Any) -> None:
        self.api, name = api, api.settings.namespace
        lease = Lease(client, NamespaceKeys(name).webhook_sender, LEASE_MS)
        self.store = WebhookStore(Webhooks(client, name), Deliveries(client, name), lease)
        runtime = api.runtime
        records = Records(runtime.jobs.records, runtime.registry, Experiments(client, name))
        usual = {
            "receivers": Receivers(to_private=True),
            "settling": Settling(0),
            "pauses_s": (0, 0),
        }
        self.outcomes: list[str] = []
        self.sender = WebhookSender(self.store, records, runtime.alarms, **(usual | changes))
        self.sender.on_outcome = self.outcomes.append

    def make(self, url: str, events: Sequence[str] = NO_ALARMS) -> Webhook:
        return self.store.webhooks.create(url, events, "")

    def look(self) -> None:
        """Look once, and send what is due."""
        self.api.run(self._look())

    async def _look(self) -> None:
        await self.sender.refresh()
        await asyncio.gather(*self.sender._sending.values())

    def test(self, webhook: Webhook) -> Delivery:
        delivery = new_delivery(webhook.id, TEST, '{"type":"webhook.test"}')
        self.store.deliveries.queue_one(delivery)
        return delivery

    def of(self, webhook: Webhook) -> list[Delivery]:
        return self.store.deliveries.of(webhook.id)

    def close(self) -> None:
        self.api.run(self.sender.close())


@pytest.fixture
def sending_of(api: Api, client: Redis) -> Iterator[Callable[..., Sending]]:
    """Makes senders; that of the application itself is stopped."""
    api.run(api.runtime.webhooks.close())
    made: list[Sending] = []

    def make(**changes: Any) -> Sending:
        made.append(Sending(api, client, **changes))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def sending(sending_of: Callable[..., Sending]) -> Sending:
    return sending_of()


def failed_training(api: Api) -> str:
    job = api.runtime.jobs.records.create(ORDER).id
    assert api.runtime.jobs.records.fail(job, "there is too little to learn from")
    return job


def test_what_happens_is_sent_signed_and_once(
    api: Api, redis_url: str, sending: Sending, sending_of: Callable[..., Sending]
) -> None:
    with Receiver() as receiver:
        webhook = sending.make(receiver.url)
        sending.look()
        job = failed_training(api)
        version = activate(api, redis_url)
        arms = [Arm("a", 0.5, {}), Arm("b", 0.5, {"diversity": 0.3})]
        api.runtime.experiments.store.begin("variety", arms, None, "a test")
        sending.look()
        api.runtime.experiments.store.stop("variety", "a test", "it was stopped")
        for _ in range(3):
            sending.look()
        sending.close()
        # another process goes on where the first has ended
        sending_of().look()
    assert receiver.types == ["training.ended", "model.promoted", "experiment.ended"]
    assert all(one.is_signed_with(webhook.secret) for one in receiver.received)
    assert not receiver.received[0].is_signed_with("whsec_" + "A" * 44)
    assert receiver.received[0].path == "/hook"
    assert receiver.received[0].headers["content-type"] == "application/json"
    training, promoted, ended = (one.event["data"] for one in receiver.received)
    assert (training["job"], training["status"]) == (job, "failed")
    assert (promoted["strategy"], promoted["version"]) == ("fbgd", version)
    assert (ended["experiment"], ended["state"]) == ("variety", "stopped")
    assert [one.state for one in sending.of(webhook)] == ["delivered"] * 3
    assert sending.outcomes == ["delivered"] * 3


def test_a_webhook_is_told_of_what_it_wants_and_of_what_comes_after_it(
    api: Api, sending: Sending
) -> None:
    earlier = api.runtime.jobs.records.record(failed_training(api)).ended_ms or 0
    wait_until(lambda: now_ms() > earlier)
    with Receiver() as receiver:
        choosy = sending.make(receiver.url, ["model.promoted"])
        other = sending.make(receiver.url + "/all")
        failed_training(api)
        sending.look()
    assert [one.path for one in receiver.received] == ["/hook/all"]
    assert (len(sending.of(choosy)), len(sending.of(other))) == (0, 1)


def test_each_promotion_of_an_experiment_is_told(api: Api, sending: Sending) -> None:
    store = api.runtime.experiments.store
    arms = [Arm("a", 0.5, {}), Arm("b", 0.5, {"diversity": 0.3})]
    for name in ("first", "second"):
        ended_ms = store.begin(name, arms, None, "a test") and store.stop(name, "", "").ended_ms
    wait_until(lambda: now_ms() > (ended_ms or 0))
    with Receiver() as receiver:
        sending.make(receiver.url, ["experiment.ended"])
        # it had ended before the webhook was made; another arm; what replaces it stops it
        for name, arm in (("first", "a"), ("first", "b"), ("second", "a"), ("first", "b")):
            store.promote(name, arm, "a test")
            for _ in range(2):
                sending.look()
    told = [
        (one["experiment"], one["promoted"]) for one in (r.event["data"] for r in receiver.received)
    ]
    assert told == [("first", "a"), ("first", "b"), ("second", "a"), ("first", "b")]
    assert {one.event["data"]["state"] for one in receiver.received} == {"promoted"}


def test_an_alarm_is_told_when_it_opens_and_when_it_closes(
    api: Api, client: Redis, sending: Sending
) -> None:
    keys = NamespaceKeys(api.settings.namespace)
    client.set(keys.trainer, "elsewhere:1:0")
    with Receiver() as receiver:
        sending.make(receiver.url, ["alarm.opened", "alarm.closed"])
        sending.look()
        first = {one.event["data"]["code"]: one.event["data"] for one in receiver.received}
        # no learner runs here
        assert first["no_learner"]["about"] == "partition 0"
        assert "no_trainer" not in first
        client.delete(keys.trainer)
        for _ in range(2):
            sending.look()
        client.set(keys.trainer, "elsewhere:1:0")
        sending.look()
    told = [(one["type"], one["data"]["code"]) for one in (r.event for r in receiver.received)]
    assert told[len(first) :] == [("alarm.opened", "no_trainer"), ("alarm.closed", "no_trainer")]


def test_what_failed_is_sent_again_under_the_same_id(sending: Sending) -> None:
    with Receiver(500, 503, 200) as receiver:
        webhook = sending.make(receiver.url)
        delivery = sending.test(webhook)
        for _ in range(5):
            sending.look()
    assert [one.id for one in receiver.received] == [delivery.id] * 3
    assert {one.body for one in receiver.received} == {delivery.body.encode()}
    [now] = sending.of(webhook)
    assert (now.state, now.tries, now.status, now.error) == ("delivered", 3, 200, "")
    assert sending.outcomes == ["failed", "failed", "delivered"]


def test_a_delivery_that_fails_each_time_is_given_up(sending: Sending) -> None:
    with Receiver(500) as receiver, capture_logs() as logs:
        webhook = sending.make(f"{receiver.url}?token=hidden")
        sending.test(webhook)
        for _ in range(5):
            sending.look()
    assert len(receiver.received) == 3
    [now] = sending.of(webhook)
    assert (now.state, now.tries, now.status) == ("given_up", 3, 500)
    assert sending.store.deliveries.waiting() == 0
    [line] = [one for one in logs if one["event"] == "webhook_given_up"]
    assert line["webhook"] == webhook.id
    assert "hidden" not in str(logs)
    assert webhook.secret not in str(logs)


def test_a_pause_follows_each_failure_and_is_as_long_as_the_receiver_asks(
    sending_of: Callable[..., Sending],
) -> None:
    sending = sending_of(pauses_s=(1_000, 1_000))
    with Receiver(429, headers=[("retry-after", "3000")]) as receiver:
        webhook = sending.make(receiver.url)
        sending.test(webhook)
        for _ in range(3):
            sending.look()
    assert len(receiver.received) == 1
    [now] = sending.of(webhook)
    assert now.next_ms is not None
    assert now.next_ms - now.created_ms >= 3_000_000


def test_a_receiver_that_is_gone_ends_its_webhook(sending: Sending) -> None:
    with Receiver(410) as receiver:
        webhook = sending.make(receiver.url)
        sending.test(webhook)
        sending.test(webhook)
        for _ in range(3):
            sending.look()
    assert len(receiver.received) == 1
    assert {one.state for one in sending.of(webhook)} == {"given_up"}
    assert "410" in sending.store.webhooks.named(webhook.id).disabled


def test_a_receiver_that_is_away_is_a_failure(sending: Sending) -> None:
    with Receiver() as receiver:
        pass
    webhook = sending.make(receiver.url)
    sending.test(webhook)
    sending.look()
    [now] = sending.of(webhook)
    assert (now.state, now.status) == ("waiting", None)
    assert now.error.startswith("no connection")


def test_redirects_are_not_followed(sending: Sending) -> None:
    with Receiver() as inside, Receiver(302, headers=[("location", inside.url)]) as receiver:
        webhook = sending.make(receiver.url)
        sending.test(webhook)
        sending.look()
    assert inside.received == []
    [now] = sending.of(webhook)
    assert (now.state, now.status) == ("waiting", 302)
    assert "redirects" in now.error


def test_one_that_does_not_answer_keeps_no_other_waiting(sending: Sending) -> None:
    with Receiver() as slow, Receiver() as quick:
        slow.may_answer.clear()
        first, second = sending.make(slow.url), sending.make(quick.url)
        sending.test(first)
        sending.test(second)

        async def both() -> None:
            await sending.sender.refresh()
            tasks = dict(sending.sender._sending)
            await tasks[second.id]
            assert not tasks[first.id].done()
            # what is on its way is not sent a second time
            await sending.sender.refresh()
            slow.may_answer.set()
            await tasks[first.id]

        sending.api.run(both())
    assert (len(slow.received), len(quick.received)) == (1, 1)


def test_one_that_takes_too_long_is_a_failure(sending_of: Callable[..., Sending]) -> None:
    sending = sending_of(receivers=Receivers(to_private=True, timeout_s=0.05))
    with Receiver() as receiver:
        receiver.may_answer.clear()
        webhook = sending.make(receiver.url)
        sending.test(webhook)
        sending.look()
        receiver.may_answer.set()
    [now] = sending.of(webhook)
    assert now.error == "no answer within 0.05 seconds"


def test_one_process_sends_and_another_takes_over(sending_of: Callable[..., Sending]) -> None:
    first, second = sending_of(), sending_of()
    with Receiver() as receiver:
        webhook = first.make(receiver.url)
        first.look()
        first.test(webhook)
        second.look()
        assert receiver.received == []
        first.close()
        second.look()
    assert second.outcomes == ["delivered"]
    assert len(receiver.received) == 1


def seized(sending: Sending) -> None:
    """Give the lease to another, while its holder believes that it has it."""
    Lease(sending.store.lease._client, sending.store.lease._key, LEASE_MS).seize()


@pytest.mark.parametrize("has_news", [True, False])
def test_who_has_lost_the_lease_queues_and_sends_nothing(
    api: Api, sending: Sending, has_news: bool
) -> None:
    with Receiver() as receiver:
        webhook = sending.make(receiver.url)
        sending.look()
        if has_news:
            failed_training(api)
        waiting = sending.test(webhook)
        seized(sending)
        sending.look()
    assert sending.of(webhook) == [waiting]
    assert receiver.received == []


def sent_one_of_two(sending: Sending, receiver: Receiver, between: Callable[[], object]) -> None:
    """Begin to send two deliveries, and let the receiver answer the first after ``between``."""
    receiver.may_answer.clear()

    async def send() -> None:
        await sending.sender.refresh()
        await asyncio.to_thread(wait_until, lambda: receiver.received)
        between()
        receiver.may_answer.set()
        tasks = sending.sender._sending.values()
        await asyncio.gather(*tasks, return_exceptions=True)

    sending.api.run(send())
    assert len(receiver.received) == 1


def test_who_loses_the_lease_while_it_sends_sends_and_notes_nothing_more(
    sending: Sending,
) -> None:
    with Receiver(500) as receiver:
        webhook = sending.make(receiver.url)
        waiting = [sending.test(webhook) for _ in range(2)]
        sent_one_of_two(sending, receiver, lambda: seized(sending))
    # ids of the same millisecond are in any order
    assert {one.id: one for one in sending.of(webhook)} == {one.id: one for one in waiting}


def test_nothing_more_is_sent_to_one_that_is_deleted_meanwhile(sending: Sending) -> None:
    with Receiver() as receiver:
        webhook = sending.make(receiver.url)
        for _ in range(2):
            sending.test(webhook)
        sent_one_of_two(sending, receiver, lambda: sending.store.webhooks.delete(webhook.id))
    assert sending.of(webhook) == []
    assert sending.store.deliveries.waiting() == 0


@pytest.mark.parametrize("is_last", [True, False])
def test_what_is_queued_for_a_deleted_webhook_is_forgotten(sending: Sending, is_last: bool) -> None:
    with Receiver() as receiver:
        webhook = sending.make(receiver.url)
        if not is_last:
            sending.make(receiver.url)
        sending.store.webhooks.delete(webhook.id)
        sending.test(webhook)
        sending.look()
    assert receiver.received == []
    assert sending.of(webhook) == []
    assert sending.store.deliveries.waiting() == 0


def test_all_that_is_due_is_read(client: Redis, namespace: str) -> None:
    deliveries = Deliveries(client, namespace)
    for webhook in ("first", "second"):
        for n in range(KEPT):
            deliveries.queue_one(new_delivery(webhook, TEST, str(n)))
    deliveries.queue_one(new_delivery("third", TEST, "{}"))
    assert {one.webhook for one in deliveries.due()} == {"first", "second", "third"}


@pytest.mark.parametrize(
    "url", ["https://127.1:1/", "https://0x7f000001:1/", "https://127.0.0.1:1/"]
)
def test_private_addresses_are_not_asked(api: Api, url: str) -> None:
    webhook = Webhook("0123456789", "", url, (), "whsec_AAAA", 0)
    receivers = Receivers(to_private=False)
    outcome = api.run(receivers.post(webhook, new_delivery(webhook.id, TEST, "{}")))
    assert "private address" in outcome.error


@pytest.mark.parametrize(
    "url",
    [
        "http://ops.example/",
        "ftp://ops.example/",
        "https:///",
        "https://user:word@ops.example/",
        "https://ops.example/#here",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://localhost/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[64:ff9b::a00:1]/",
        "https://[2002:a00:1::1]/",
        "https://[64:ff9b:1::a9fe:a9fe]/",
        "https://[fec0::1]/",
        "https://[::10.0.0.1]/",
        "https://[::ffff:0:10.0.0.1]/",
        "https://224.0.0.1/",
        "https://ops.example:port/",
        "https://ops.example:99999/",
        "ops.example",
    ],
)
def test_an_address_that_must_not_be_asked_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidWebhook):
        check_url(url, to_private=False)


def test_addresses_of_the_internet_are_allowed() -> None:
    for url in ("https://ops.example/a?b=c", "https://8.8.8.8/", "https://[2606:4700::1]:8443/"):
        check_url(url, to_private=False)
    check_url("http://10.0.0.1:9000/", to_private=True)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Sequence[str]]], None]:
    """Makes the name server answer with addresses for ops.example."""
    real = socket.getaddrinfo

    def answer(addresses: Callable[[], Sequence[str]]) -> None:
        def found(host: Any, port: Any, *more: Any, **named: Any) -> Any:
            if host != b"ops.example":
                return real(host, port, *more, **named)
            return [one for name in addresses() for one in real(name, port, *more, **named)]

        monkeypatch.setattr(socket, "getaddrinfo", found)

    return answer


def test_each_address_of_a_receiver_is_tried(names: Any, sending: Sending) -> None:
    with Receiver() as receiver:
        # nothing listens at the first
        names(lambda: ["127.0.0.2", "127.0.0.1"])
        webhook = sending.make(f"http://ops.example:{receiver.port}/")
        sending.test(webhook)
        sending.look()
    assert [one.state for one in sending.of(webhook)] == ["delivered"]
    assert len(receiver.received) == 1


def test_names_that_are_looked_up_keep_nothing_else_waiting(names: Any) -> None:
    may_answer = threading.Event()

    def after_long() -> list[str]:
        may_answer.wait()
        return []

    async def look_up() -> Outcome:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        receivers = Receivers(to_private=True)
        webhook = Webhook("0123456789", "", "https://ops.example/", (), "whsec_AAAA", 0)
        post = receivers.post(webhook, new_delivery(webhook.id, TEST, "{}"))
        posting = asyncio.create_task(post)
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(5):
                await asyncio.to_thread(int)
        finally:
            may_answer.set()
        outcome = await posting
        await receivers.close()
        return outcome

    names(after_long)
    assert asyncio.run(look_up()).error


def test_the_certificate_of_a_receiver_is_checked_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sending: Sending
) -> None:
    certificates = Certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    with Receiver(certificate=certificates.signed("server")) as receiver:
        named = sending.make(f"https://localhost:{receiver.port}/")
        other = sending.make(f"https://127.0.0.1:{receiver.port}/")
        for webhook in (named, other):
            sending.test(webhook)
        sending.look()
    assert sending.of(named)[0].state == "delivered"
    assert receiver.received[0].headers["host"] == f"localhost:{receiver.port}"
    assert "CERTIFICATE_VERIFY_FAILED" in sending.of(other)[0].error
    assert len(receiver.received) == 1


def test_the_newest_deliveries_are_kept_and_older_ones_make_room(
    client: Redis, namespace: str
) -> None:
    deliveries = Deliveries(client, namespace, kept=3)
    new = [new_delivery("0123456789", TEST, str(n)) for n in range(5)]
    for one in new:
        deliveries.queue_one(one)
    newest = sorted((one.id for one in new), reverse=True)[:3]
    assert [one.id for one in deliveries.of("0123456789")] == newest
    assert deliveries.waiting() == 3
    # those that had to go are not missed by whoever looks for what is due
    assert {one.id for one in deliveries.due()} == set(newest)


def test_what_waits_for_a_deleted_webhook_is_sent_to_nobody(sending: Sending) -> None:
    with Receiver() as receiver:
        webhook, other = sending.make(receiver.url), sending.make(receiver.url)
        delivery = sending.test(webhook)
        sending.store.webhooks.delete(webhook.id)
        sending.look()
        # nor does a try that was under way bring it back
        sending.store.deliveries.note(delivery, sending.store.lease.token)
    assert receiver.received == []
    assert (sending.of(webhook), sending.of(other)) == ([], [])
    assert sending.store.deliveries.waiting() == 0


def test_an_alarm_that_flickers_neither_opens_nor_closes() -> None:
    clock = [0.0]
    settling = Settling(10, lambda: clock[0])
    alarm = Alarm("drift", "info", "Tastes have moved", "Train.")

    def look(at: float, *found: Alarm, told: Any = ()) -> Any:
        clock[0] = at
        news = settling.look(found, told)
        return [event.type for event in news.events], news.seen.alarms

    assert look(0, alarm) == ([], ())
    assert look(9) == ([], ())
    assert look(10, alarm) == ([], ())
    types, told = look(20, alarm)
    assert types == ["alarm.opened"]
    assert look(25, told=told) == ([], told)
    assert look(34, alarm, told=told) == ([], told)
    assert look(36, told=told) == ([], told)
    assert look(46, told=told) == (["alarm.closed"], ())
