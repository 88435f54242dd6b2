"""Every error that core raises on purpose.

CoreError
├── ConfigError      a setting outside its bounds, or settings that do not go together
├── ShapeError       arrays whose shapes or types do not fit one another
├── StateMismatch    rows or state of another set of experts
├── DataError        values that no model can learn from
├── NotFitted        a model was used before it was fitted
├── Diverged         a fit reached NaN or infinity
├── FilterSyntax     a filter with a syntax error
└── SnapshotFormat   a snapshot whose arrays and manifest do not match
"""


class CoreError(Exception):
    """Base class of every error that core raises on purpose."""


class ConfigError(CoreError):
    """A setting is out of bounds, or two settings conflict."""


class ShapeError(CoreError):
    """Arrays have the wrong shapes or types, or do not match one another."""


class StateMismatch(CoreError):
    """Rows or state belong to another set of experts."""


class DataError(CoreError):
    """Values that no model can learn from: NaN, negative weights, numbers out of range."""


class NotFitted(CoreError):
    """A model was used before it was fitted."""


class Diverged(CoreError):
    """A fit reached NaN or infinity."""


class FilterSyntax(CoreError):
    """A filter has a syntax error; the message says where, and what was expected there."""


class SnapshotFormat(CoreError):
    """The arrays and the manifest of a snapshot do not match, or cannot be read."""
