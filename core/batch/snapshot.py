"""Snapshots of models with fold-in, and of the encoders of documents' features.

A restored model uses the arrays of its snapshot without copying them.
"""

from dataclasses import fields, replace
from typing import Any, Unpack

from core.batch.feature_map import FeatureMap
from core.batch.item_objective import ItemObjective
from core.batch.nystroem import Nystroem
from core.batch.ocmf.users import StructuredUsers
from core.batch.row_objective import RowObjective
from core.errors import CoreError, SnapshotFormat
from core.features import FeatureEncoder
from core.snapshot import About, Array, Snapshot, snapshot_of

_ROW_ARRAYS = ("item_factors", "gram", "item_sum", "negative")
_ITEM_ARRAYS = {name: f"items_{name}" for name in ("gram", "turn", "user_sum")}
_STORED = {"mean_row": "typical", "shrinkage": "draw"}
"""Names in snapshots that differ from those in code.

Stored names never change, so that any two versions of the code can read each other's models.
"""


def of_objective(model: str, objective: RowObjective, **about: Unpack[About]) -> Snapshot:
    """Return the snapshot of a model whose users are folded in."""
    arrays, numbers = _parts(objective)
    return snapshot_of(model, arrays, {"row": numbers}, about)


def objective_of(snapshot: Snapshot) -> RowObjective:
    """Return the objective that folds users in."""
    try:
        arrays: dict[str, Any] = {name: snapshot.arrays[name] for name in _ROW_ARRAYS}
        numbers = dict(snapshot.parameters["row"])
        # snapshots of earlier versions have no shrinkage
        shrinkage = numbers.pop(_STORED["shrinkage"], 0.0)
        mean_row = snapshot.arrays.get(_STORED["mean_row"])
        return RowObjective(**arrays, **numbers, mean_row=mean_row, shrinkage=shrinkage)
    except (KeyError, TypeError, ValueError, CoreError) as error:
        raise SnapshotFormat(f"the snapshot is not of a model with fold-in: {error}") from error


def of_users(
    model: str,
    users: StructuredUsers,
    *,
    encoder: FeatureEncoder | None = None,
    **about: Unpack[About],
) -> Snapshot:
    """Return the snapshot of a model whose users have pairs, features or links.

    ``encoder`` made the features of documents.
    """
    arrays, numbers = _parts(users.row)
    known: dict[str, float] = {"link": users.link, "fading": users.fading}
    if users.weights is not None:
        arrays["weights"] = users.weights
    if (landmarks := users.feature_map.nystroem) is not None:
        arrays |= {"centres": landmarks.centres, "root": landmarks.root}
        known["gamma"] = landmarks.gamma
    parameters: dict[str, Any] = {"row": numbers, "users": known}
    if users.items is not None:
        of_items = {one.name: getattr(users.items, one.name) for one in fields(users.items)}
        arrays |= {stored: of_items.pop(name) for name, stored in _ITEM_ARRAYS.items()}
        parameters["items"] = of_items
    if encoder is not None:
        parameters["encoder"] = encoder.to_json()
    return snapshot_of(model, arrays, parameters, about)


def with_encoders(snapshot: Snapshot, users: FeatureEncoder, items: FeatureEncoder) -> Snapshot:
    """Return the snapshot with the encoders of users' and of items' features."""
    columns = {"encoder": users.to_json(), "item_encoder": items.to_json()}
    return replace(snapshot, parameters={**snapshot.parameters, **columns})


def encoders_of(snapshot: Snapshot) -> tuple[FeatureEncoder, FeatureEncoder]:
    """Return the encoders of users' and of items' features, empty for a model without them."""
    columns = (snapshot.parameters.get(name, ()) for name in ("encoder", "item_encoder"))
    users, items = map(FeatureEncoder.of_json, columns)
    return users, items


def users_of(snapshot: Snapshot) -> StructuredUsers:
    """Return what makes the vectors of users, for any model with fold-in."""
    row, arrays = objective_of(snapshot), snapshot.arrays
    numbers = snapshot.parameters.get("users", {"link": 0.0})
    try:
        landmarks = None
        if "gamma" in numbers:
            landmarks = Nystroem(arrays["centres"], arrays["root"], numbers["gamma"])
        rest = FeatureMap(landmarks), numbers["link"], numbers.get("fading", 0.0)
        return StructuredUsers(row, arrays.get("weights"), *rest, _items_of(snapshot))
    except (KeyError, TypeError, CoreError) as error:
        raise SnapshotFormat(f"the snapshot lacks data about its users: {error}") from error


def _items_of(snapshot: Snapshot) -> ItemObjective | None:
    """Return the objective that folds items in; snapshots of earlier versions have none."""
    numbers = snapshot.parameters.get("items")
    if numbers is None:
        return None
    arrays: dict[str, Any] = {name: snapshot.arrays[at] for name, at in _ITEM_ARRAYS.items()}
    return ItemObjective(**arrays, **numbers)


def _parts(row: RowObjective) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the arrays and the numbers of a row objective, for arrays and parameters."""
    values = {entry.name: getattr(row, entry.name) for entry in fields(row)}
    arrays = {name: values.pop(name) for name in _ROW_ARRAYS}
    arrays[_STORED["mean_row"]] = values.pop("mean_row")
    values[_STORED["shrinkage"]] = values.pop("shrinkage")
    return {name: array for name, array in arrays.items() if array is not None}, values
