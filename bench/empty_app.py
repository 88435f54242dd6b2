"""The lower bound on latency: FastAPI with one validated POST, one empty GET and nothing else."""

from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()


class Rating(BaseModel):
    """Body of the POST, as the service's clients send it."""

    user: str
    item: str
    rating: float
    timestamp: str | None = None


class Accepted(BaseModel):
    """Body of the answer."""

    accepted: int


@app.post("/ratings", status_code=202)
async def post_rating(rating: Rating) -> Accepted:
    """Validate the rating and drop it."""
    return Accepted(accepted=1)


@app.get("/")
async def nothing() -> None:
    """Answer null."""
