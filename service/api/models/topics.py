"""Topics: what the same people like, and what a user is made of."""

from fastapi import APIRouter

from service.api.figures import Figure
from service.api.routing import Route, Runtime, UserId
from service.api.schemas import Answer, OfModel
from service.ids import sequence_token
from service.ranking.families import TrainedStrategy
from service.ranking.ranker import Ranker
from service.serving import topics as serving

router = APIRouter(route_class=Route, tags=["topics"])


class TopicItem(Answer):
    """An item of a topic."""

    item: str
    """The item."""
    strength: Figure
    """How typical the item is of the topic, 0 to 1; smaller for an item with little feedback."""


class Topic(Answer):
    """A group of items that the same people like."""

    topic: int
    """Its number, from 0, within this version of the model."""
    name: str
    """Terms that are typical of the topic; `topic 3`, for example, if there are no such terms."""
    terms: list[str]
    """The terms of the name: categories first, then words of texts; may be empty."""
    share: Figure
    """Its share of all that people took; the shares of all topics sum to 1."""
    n_items: int
    """Items of the topic that may be shown; each item belongs to the topic that it fits best."""
    items: list[TopicItem]
    """Up to 20 of them, the most typical first."""


class Topics(OfModel):
    """The topics of the catalogue."""

    topics: list[Topic]
    """The topic that most people like comes first; empty without a model."""
    model_version: str | None
    """The version of the model that they are made of; null without one."""
    strategy: TrainedStrategy | None
    """The strategy of the model."""
    trained_through: str | None
    """The last events that the model was trained on."""
    reason: str | None
    """Why there are none; otherwise null."""


class UserTopic(Answer):
    """A topic, and its share in what a user likes."""

    topic: int
    """As in `GET /v1/topics`."""
    name: str
    """As in `GET /v1/topics`."""
    terms: list[str]
    """As in `GET /v1/topics`."""
    share: Figure
    """Its share of the user's positive feedback; the shares of all topics sum to 1."""
    lift: Figure
    """This share divided by the topic's share of all that people took."""
    items: list[str]
    """Up to five items of the user in it."""


class UserTopics(OfModel):
    """The topics of a user."""

    user: str
    """The user."""
    topics: list[UserTopic]
    """Those with a share, the largest first."""
    model_version: str | None
    """The version of the model that topics are made of; null without one."""
    strategy: TrainedStrategy | None
    """The strategy of the model."""
    trained_through: str | None
    """The last events that the model was trained on."""
    seen_through: str
    """The last event of the user that the answer reflects."""
    reason: str | None
    """Why there are none; otherwise null."""


@router.get("/v1/topics", summary="Show the topics")
async def get_topics(runtime: Runtime) -> Topics:
    """Groups of items that the same people like, made of the vectors of an active model.

    The first request after a new model may take some seconds.
    """
    found = await runtime.topics.all()
    version, strategy, through = _origin(found.model)
    return Topics(
        topics=[
            Topic(
                topic=topic.number,
                name=_name(topic),
                terms=[*topic.terms],
                share=topic.share,
                n_items=topic.n_items,
                items=[TopicItem(item=item, strength=strength) for item, strength in topic.items],
            )
            for topic in found.topics
        ],
        model_version=version,
        strategy=strategy,
        trained_through=through,
        reason=found.reason,
    )


@router.get("/v1/users/{user:id}/topics", summary="Show the topics of a user")
async def get_user_topics(runtime: Runtime, user: UserId) -> UserTopics:
    """The share of each topic in the user's positive feedback, with items that stand for it.

    A user about whom nothing is known has none; `reason` says so.
    """
    found = await runtime.topics.of_user(user)
    version, strategy, through = _origin(found.model)
    return UserTopics(
        user=user,
        topics=[
            UserTopic(
                topic=one.topic.number,
                name=_name(one.topic),
                terms=[*one.topic.terms],
                share=one.share,
                lift=one.share / max(one.topic.share, 1e-9),
                items=[*one.items],
            )
            for one in found.topics
        ],
        model_version=version,
        strategy=strategy,
        trained_through=through,
        seen_through=found.seen_through,
        reason=found.reason,
    )


def _name(topic: serving.Topic) -> str:
    return ", ".join(topic.terms) or f"topic {topic.number}"


def _origin(model: Ranker | None) -> tuple[str | None, TrainedStrategy | None, str | None]:
    if model is None:
        return None, None, None
    return model.version, model.strategy, sequence_token(model.trained_through)
