"""Snapshots of content."""

from dataclasses import replace
from typing import Any, Unpack

import scipy.sparse as sp

from core.batch.content.encoder import DocumentEncoder
from core.batch.content.model import Content
from core.batch.content.places import DocumentMap
from core.batch.snapshot import objective_of, of_objective
from core.errors import CoreError, SnapshotFormat
from core.snapshot import About, Snapshot


def of_content(model: str, fitted: Content, **about: Unpack[About]) -> Snapshot:
    """Return the snapshot of a fitted model."""
    rows, snapshot = fitted.rows, of_objective(model, fitted.row, **about)
    arrays = {
        "places": fitted.places,
        "map": fitted.map.weights,
        "row_ptr": rows.indptr.astype("i8"),
        "row_column": rows.indices.astype("i4"),
        "row_value": rows.data.astype("f4"),
    }
    documents = {"documents": fitted.encoder.to_json()}
    return replace(
        snapshot,
        arrays={**snapshot.arrays, **arrays},
        parameters={**snapshot.parameters, **documents},
    )


def content_of(snapshot: Snapshot) -> Content:
    """Return the fitted model, which uses the snapshot's arrays without copying them."""
    row, arrays = objective_of(snapshot), snapshot.arrays
    try:
        places: Any = arrays["places"]
        encoder = DocumentEncoder.of_json(snapshot.parameters["documents"])
        parts: Any = tuple(arrays[name] for name in ("row_value", "row_column", "row_ptr"))
        rows = sp.csr_array(parts, shape=(len(places), encoder.width))
        weights: Any = arrays["map"]
        return Content(row, places, rows, DocumentMap(weights), encoder)
    except (KeyError, TypeError, ValueError, CoreError) as error:
        raise SnapshotFormat(f"the snapshot is not of content: {error}") from error
