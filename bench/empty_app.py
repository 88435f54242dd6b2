"""The floor: FastAPI with one validated POST and one empty GET, no middleware, nothing behind them."""

from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()


class Rating(BaseModel):
    """What a client of the service posts."""

    user: str
    item: str
    rating: float
    timestamp: str | None = None


class Accepted(BaseModel):
    """What it gets."""

    accepted: int


@app.post("/ratings", status_code=202)
async def post_rating(rating: Rating) -> Accepted:
    """Validate and forget."""
    return Accepted(accepted=1)


@app.get("/")
async def nothing() -> None:
    """Answer null."""
