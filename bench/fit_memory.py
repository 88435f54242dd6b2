"""Peak memory of one fit above that of the interpreter, printed as JSON.

``bench.ranking --only memory`` runs this module in a child process, on pairs saved in a folder:

    python -m bench.fit_memory FOLDER FACTORS
"""

import json
import sys
from pathlib import Path

import numpy as np

from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.interactions import Interactions, from_pairs

PARTS = ("ptr", "item_ix", "weight", "target")
STATUS, PEAK_RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def save(pairs: Interactions, folder: Path) -> None:
    for name in PARTS:
        if (part := getattr(pairs, name)) is not None:
            np.save(folder / f"{name}.npy", part)
    (folder / "n_items").write_text(str(pairs.n_items))


def load(folder: Path) -> Interactions:
    parts = {name: folder / f"{name}.npy" for name in PARTS}
    arrays = {name: np.load(path) for name, path in parts.items() if path.is_file()}
    return Interactions(int((folder / "n_items").read_text()), **arrays)


def measured(folder: Path, config: FbgdConfig) -> dict[str, int]:
    """Return bytes: the peak of the fit, the positives and the factors.

    The peak excludes the memory that the interpreter and the compiled kernels hold.
    """
    tiny = from_pairs(np.array([0, 0, 1]), np.array([0, 1, 1]), weight=[1.0, 2.0, 3.0])
    for pairs in (tiny, load(folder).rows(np.arange(1))):
        Fbgd(FbgdConfig(factors=2, epochs=1)).fit(pairs)
    before = _status("VmRSS")
    # The operating system restarts its count of the peak here.
    PEAK_RESET.write_text("5")
    pairs = load(folder)
    model = Fbgd(config).fit(pairs)
    peak = _status("VmHWM") - before
    positives = sum(part.nbytes for name in PARTS if (part := getattr(pairs, name)) is not None)
    rows = pairs.n_users + pairs.n_items
    return {
        "peak": peak,
        "positives": positives,
        "factors": rows * model.config.factors * 4,
    }


def _status(name: str) -> int:
    lines = STATUS.read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


if __name__ == "__main__":
    print(json.dumps(measured(Path(sys.argv[1]), FbgdConfig(factors=int(sys.argv[2]), epochs=3))))
