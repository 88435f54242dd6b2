"""The settings of a recipe: which may be stated, how a stated value is read, and its bounds.

A recipe is a named way to train a family of models. Its settings are kept apart from its code, so that an api process
checks an order without loading what fits; ``RECIPES`` in the ``config`` modules of each family are the instances.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from core.errors import ConfigError

MOST_FACTORS = 2_048
"""Factors of a model. An epoch turns a basis of this size (time grows with its cube), and a fit holds about ten copies of
both sides' factors: on the largest catalogues that are supported more would not fit into memory."""
LARGEST = 2**53
"""Size of any number. Beyond it a float does not tell whole numbers apart."""

RENAMED = {"draw": "shrinkage"}
"""Earlier names of settings, which stored models, orders and schedules may have."""

ConfigT = TypeVar("ConfigT")


def _changed(config: Any, values: Mapping[str, Any]) -> Any:
    return replace(config, **values)


def _renamed(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {RENAMED.get(name, name): value for name, value in settings.items()}


@dataclass(frozen=True)
class RecipeSettings(Generic[ConfigT]):
    """The name of a recipe, its usual settings, and those that may be stated."""

    name: str
    base: ConfigT
    names: tuple[str, ...]
    """Settings that an order of a training may state."""
    offline: tuple[str, ...] = ()
    """Settings that only ``hedgerow eval`` may state besides; a training keeps those of ``base``."""
    kept: tuple[str, ...] = ()
    """Settings that a training keeps as in ``base`` unless its order states them; ``hedgerow eval`` searches them."""
    most_factors: int = MOST_FACTORS
    fixed: frozenset[str] = frozenset()
    """Settings that make it this recipe: nobody states them, and no search changes them."""
    changed: Callable[[ConfigT, Mapping[str, Any]], ConfigT] = _changed
    """Makes a configuration with other values."""
    flat: Callable[[ConfigT], Mapping[str, Any]] = vars
    """Reads a configuration as one mapping of names to values."""

    def config(self, values: Mapping[str, Any]) -> ConfigT:
        """Return the usual settings with these values; ConfigError where one is out of bounds."""
        return self.changed(self.base, values)

    def checked(self, parameters: Mapping[str, Any]) -> ConfigT:
        """Return the configuration that an order states, values as JSON has them; ConfigError says what is wrong."""
        parameters = _renamed(parameters)
        for name, value in parameters.items():
            if name not in self.names:
                known = ", ".join(self.names)
                raise ConfigError(f"{self.name} has no parameter {name!r}; it has: {known}")
            self._check_number(name, value)
        if parameters.get("factors", 1) > self.most_factors:
            most = self.most_factors
            raise ConfigError(f"factors must be at most {most}: more need too much memory")
        try:
            return self.config(parameters)
        except ConfigError as error:
            raise ConfigError(f"{self.name}: {error}") from error

    def ordered(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return all that is stated for a training with these parameters."""
        usual = self.flat(self.base)
        return {**{name: usual[name] for name in self.kept}, **_renamed(parameters)}

    def stored(self, values: Mapping[str, Any]) -> ConfigT:
        """Return the configuration of a stored model; settings that the recipe no longer has are left out."""
        known = {name: value for name, value in _renamed(values).items() if name in self.names}
        return self.config(known)

    def parsed(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Return the values of ``--set`` texts by name; ConfigError says what is wrong."""
        known = (*self.names, *self.offline)
        for name in texts:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise ConfigError(f"--set {name}: this model has no such setting; it has {listed}")
        return {name: self._parsed(name, text) for name, text in texts.items()}

    def values(self, config: ConfigT) -> dict[str, Any]:
        """Return the settings that an order may state, as they are in a configuration."""
        flat = self.flat(config)
        return {name: flat[name] for name in self.names}

    def told(self, config: ConfigT) -> dict[str, Any]:
        """Return the settings that ``--set`` may state and that have a value in a configuration."""
        flat = self.flat(config)
        known = {name: flat[name] for name in (*self.names, *self.offline)}
        return {name: value for name, value in known.items() if value is not None}

    def _parsed(self, name: str, text: str) -> Any:
        usual = self.flat(self.base)[name]
        if isinstance(usual, str):
            return text
        try:
            number = int(text) if isinstance(usual, int) else float(text)
        except ValueError as error:
            kind = "a whole number" if isinstance(usual, int) else "a number"
            raise ConfigError(f"--set {name}={text}: give {kind}") from error
        if name == "factors" and number > self.most_factors:
            raise ConfigError(f"--set factors={text}: give at most {self.most_factors}")
        return number

    def _check_number(self, name: str, value: Any) -> None:
        """Refuse everything but a number, and a fraction where the usual value is a whole number."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ConfigError(f"{name} must be a number, not {value!r}")
        # the negation refuses NaN as well
        if not abs(value) <= LARGEST:
            raise ConfigError(f"{name} must be a number between -2^53 and 2^53")
        if isinstance(self.flat(self.base)[name], int) and not isinstance(value, int):
            raise ConfigError(f"{name} must be a whole number, not {value!r}")
