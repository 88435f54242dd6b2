"""The settings of a recipe: which ones can be given, how a given value is read, and its bounds.

A recipe is a named way to train a family of models. Its settings are separate from its code, so
that an api process can check a retrain request without importing the fitting code. The instances
are ``RECIPES`` in the ``config`` module of each family.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from core.errors import ConfigError

MOST_FACTORS = 2_048
"""Maximum number of factors of a model.

An epoch rotates a basis of this size, in time that grows with its cube, and a fit holds about ten
copies of the factors of users and items: on the largest supported catalogues, more factors would
not fit into memory.
"""
MOST_POINT_FACTORS = 10_000
"""Maximum number of factors of a model of labelled points, which no server trains."""
LARGEST_EXACT = 2**53
"""Largest absolute value of a number: beyond it a float cannot represent every whole number."""

RENAMED = {"draw": "shrinkage"}
"""Former names of settings, which stored models, jobs and schedules may contain."""

ConfigT = TypeVar("ConfigT")


def _changed(config: Any, values: Mapping[str, Any]) -> Any:
    return replace(config, **values)


def _renamed(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {RENAMED.get(name, name): value for name, value in settings.items()}


@dataclass(frozen=True)
class RecipeSettings(Generic[ConfigT]):
    """The name of a recipe, its default configuration, and the settings that can be given."""

    name: str
    base: ConfigT
    """The default configuration."""
    names: tuple[str, ...]
    """Settings that a retrain request can give."""
    offline: tuple[str, ...] = ()
    """Further settings that only ``hedgerow eval`` can give; a retrain uses their defaults."""
    kept: tuple[str, ...] = ()
    """Settings with their defaults in a retrain unless given; ``hedgerow eval`` searches them."""
    most_factors: int = MOST_FACTORS
    """Maximum number of factors."""
    fixed: frozenset[str] = frozenset()
    """Settings that define this recipe: nobody can give them, and no search changes them."""
    changed: Callable[[ConfigT, Mapping[str, Any]], ConfigT] = _changed
    """Function that returns a configuration with some values replaced."""
    flat: Callable[[ConfigT], Mapping[str, Any]] = vars
    """Function that returns a configuration as one mapping of names to values."""

    def config(self, values: Mapping[str, Any]) -> ConfigT:
        """Return the defaults with these values; raise ConfigError if one is out of bounds."""
        return self.changed(self.base, values)

    def checked(self, parameters: Mapping[str, Any]) -> ConfigT:
        """Return the configuration of a retrain request (JSON values); ConfigError if invalid."""
        parameters = _renamed(parameters)
        for name, value in parameters.items():
            if name not in self.names:
                listed = ", ".join(self.names)
                raise ConfigError(f"{self.name} has no parameter {name!r}; it has: {listed}")
            self._check_number(name, value)
        if parameters.get("factors", 1) > self.most_factors:
            most = self.most_factors
            raise ConfigError(f"factors must be at most {most}: more need too much memory")
        try:
            return self.config(parameters)
        except ConfigError as error:
            raise ConfigError(f"{self.name}: {error}") from error

    def ordered(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that a retrain with these parameters does not search, with values."""
        defaults = self.flat(self.base)
        return {**{name: defaults[name] for name in self.kept}, **_renamed(parameters)}

    def stored(self, values: Mapping[str, Any]) -> ConfigT:
        """Return the configuration of a stored model, without settings that no longer exist."""
        known = {name: value for name, value in _renamed(values).items() if name in self.names}
        return self.config(known)

    def parsed(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Return the values of ``--set`` texts by name; raise ConfigError for invalid ones."""
        allowed = (*self.names, *self.offline)
        for name in texts:
            if name not in allowed:
                listed = ", ".join(allowed) or "none"
                raise ConfigError(f"--set {name}: this model has no such setting; it has {listed}")
        return {name: self._parsed(name, text) for name, text in texts.items()}

    def values(self, config: ConfigT) -> dict[str, Any]:
        """Return the settings of a configuration that a retrain request can give."""
        flat = self.flat(config)
        return {name: flat[name] for name in self.names}

    def all_values(self, config: ConfigT) -> dict[str, Any]:
        """Return the settings of a configuration that ``--set`` can give and that are not None."""
        flat = self.flat(config)
        values = {name: flat[name] for name in (*self.names, *self.offline)}
        return {name: value for name, value in values.items() if value is not None}

    def _parsed(self, name: str, text: str) -> Any:
        default = self.flat(self.base)[name]
        if isinstance(default, str):
            return text
        try:
            number = int(text) if isinstance(default, int) else float(text)
        except ValueError as error:
            kind = "a whole number" if isinstance(default, int) else "a number"
            raise ConfigError(f"--set {name}={text}: give {kind}") from error
        if name == "factors" and number > self.most_factors:
            raise ConfigError(f"--set factors={text}: give at most {self.most_factors}")
        return number

    def _check_number(self, name: str, value: Any) -> None:
        """Raise ConfigError unless the value is a number, and a whole one if its default is."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ConfigError(f"{name} must be a number, not {value!r}")
        # the negation refuses NaN as well
        if not abs(value) <= LARGEST_EXACT:
            raise ConfigError(f"{name} must be a number between -2^53 and 2^53")
        if isinstance(self.flat(self.base)[name], int) and not isinstance(value, int):
            raise ConfigError(f"{name} must be a whole number, not {value!r}")
