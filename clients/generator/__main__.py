"""Write the generated files of all clients, by default into this repository.

python -m clients.generator [FOLDER]
"""

import sys
from pathlib import Path

from clients.generator import javascript, python
from clients.generator.document import Document

CLIENTS = Path(__file__).parents[1]


def write(folder: Path) -> None:
    """Write all generated files below the folder that holds the clients."""
    document = Document.read()
    _write(folder / "python" / "src" / "hedgerow_client", python.files(document))
    _write(folder / "js" / "src", javascript.files(document))


def _write(package: Path, files: dict[str, str]) -> None:
    package.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (package / name).write_text(text)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else CLIENTS)
