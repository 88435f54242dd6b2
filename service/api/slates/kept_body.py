"""A finished slate as bytes. When it is given again, its id and what it has seen are new."""

from msgspec import Struct

from service.rec_ids import RecIdTemplate

_REC_ID, _SEEN_THROUGH = b',"rec_id":"', b',"seen_through":"'
"""Members of the outermost object: within a string a quotation mark has a backslash before it."""


class KeptBody(Struct, frozen=True):
    """The parts of a slate around the two values that change."""

    before: bytes
    between: bytes
    after: bytes
    rec_id: RecIdTemplate

    @classmethod
    def of(cls, body: bytes, rec_id: str) -> "KeptBody":
        """Return the parts of a slate without `fields`, whose names could be any."""
        begins = body.index(_REC_ID) + len(_REC_ID)
        seen = body.rindex(_SEEN_THROUGH) + len(_SEEN_THROUGH)
        ends = body.index(b'"', seen)
        made = RecIdTemplate.of(rec_id)
        return cls(body[:begins], body[begins + len(rec_id) : seen], body[ends:], made)

    @property
    def nbytes(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)

    def again(self, time_ms: int, seen_through: str) -> bytes:
        """Return the slate as of now."""
        seen = seen_through.encode()
        return b"".join((self.before, self.rec_id.at(time_ms), self.between, seen, self.after))
