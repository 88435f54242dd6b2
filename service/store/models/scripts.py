"""The Lua scripts that change models and pointers, each in one atomic step."""

from importlib import resources

from service.store.identity.scripts import checking


def _script(name: str) -> str:
    return resources.files(__package__).joinpath(f"{name}.lua").read_text()


PUBLISH, _ = checking(_script("publish_model"))
REMOVE = _script("remove_model")
ACTIVATE, ROLL_BACK, UNPIN = (
    _script("activate_model"),
    _script("roll_back_model"),
    _script("unpin_model"),
)
