"""Scripts that check the store with their write: they refuse callers that knew another one."""

import hashlib
from importlib import resources

_CHECK = resources.files(__package__).joinpath("check_store.lua").read_text()


def checking(script: str) -> tuple[str, str]:
    """Return a script that may call ``is_known(key, known)``, and the digest of its text."""
    text = _CHECK + script
    return text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
