"""Snapshots of content."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp

from core.batch.content.affinity import Affinity, features_of
from core.batch.content.encoder import DocumentEncoder
from core.batch.content.model import Content
from core.batch.content.places import DocumentMap
from core.batch.content.text_vectors import TextVectors
from core.batch.snapshot import objective_of, of_objective
from core.errors import CoreError, SnapshotFormat
from core.snapshot import About, Snapshot


def of_content(model: str, fitted: Content, **about: Unpack[About]) -> Snapshot:
    """Return the snapshot of a fitted model."""
    rows, snapshot = fitted.rows, of_objective(model, fitted.row, **about)
    weights, named = fitted.map.weights, fitted.encoder.named
    arrays = {
        "places": fitted.places,
        # without the rows of texts, so that earlier versions of the code can read it
        "map": np.delete(weights, np.s_[named:-1], axis=0),
        "row_ptr": rows.indptr.astype("i8"),
        "row_column": rows.indices.astype("i4"),
        "row_value": rows.data.astype("f4"),
    }
    if fitted.encoder.texts is not None:
        arrays |= _of_texts(fitted.encoder.texts) | {"text_map": weights[named:-1]}
    if fitted.tastes is not None:
        arrays |= {"usual": fitted.tastes.usual, "doubt": fitted.tastes.doubt}
    if fitted.likes is not None:
        arrays["likes"] = fitted.likes
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
        encoder = DocumentEncoder.of_json(snapshot.parameters["documents"], _texts(arrays))
        parts: Any = tuple(arrays[name] for name in ("row_value", "row_column", "row_ptr"))
        rows = sp.csr_array(parts, shape=(len(places), encoder.named))
        weights: Any = arrays["map"]
        if encoder.texts is not None:
            weights = np.concatenate([weights[:-1], arrays["text_map"], weights[-1:]])
        tastes, likes = _tastes(arrays, encoder), arrays.get("likes")
        return Content(row, places, rows, DocumentMap(weights), encoder, tastes, likes)
    except (KeyError, TypeError, ValueError, CoreError) as error:
        raise SnapshotFormat(f"the snapshot is not of content: {error}") from error


def _of_texts(texts: TextVectors) -> dict[str, Any]:
    """Return vectors of texts as arrays; no word contains a space."""
    words = np.frombuffer(" ".join(texts.weights).encode(), np.uint8)
    weights = np.array([*texts.weights.values()], np.float32)
    return {"text_words": words, "text_weights": weights, "text_vectors": texts.vectors}


def _tastes(arrays: Mapping[str, Any], encoder: DocumentEncoder) -> Affinity | None:
    """Return the usual tastes, None for a model that was fitted without them."""
    if "usual" not in arrays:
        return None
    return Affinity(arrays["usual"], arrays["doubt"], features_of(encoder))


def _texts(arrays: Mapping[str, Any]) -> TextVectors | None:
    """Return the vectors of texts, None if the model has none."""
    if "text_vectors" not in arrays:
        return None
    words = arrays["text_words"].tobytes().decode().split(" ")
    weights = dict(zip(words, arrays["text_weights"].tolist(), strict=True))
    return TextVectors(weights, arrays["text_vectors"])
