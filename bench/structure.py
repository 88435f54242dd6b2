"""Structure of the code: modules per folder, longest import chain, fan-out, long signatures.

    python -m bench.structure [--path DIR]     # the tree in DIR; by default the current directory

Nothing of the tree is run: imports are read by grimp, functions from the syntax tree.
"""

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import grimp

ROOTS = ("core", "service", "hedgerow")
WIDEST = 10
MOST_ARGUMENTS = 5
LINE = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--path", type=Path, default=Path.cwd(), metavar="DIR")
    print(report(parser.parse_args().path.resolve()))


def report(path: Path) -> str:
    """Return the tables for the tree in ``path`` as Markdown."""
    roots = [root for root in ROOTS if (path / root / "__init__.py").exists()]
    sources = {file: file.read_text() for root in roots for file in (path / root).rglob("*.py")}
    sections = (
        _folders(path, sources),
        _imports(graph_of(path, roots)),
        _signatures(path, sources),
        _lines(path, sources),
    )
    return "\n\n".join(sections)


def graph_of(path: Path, roots: Iterable[str]) -> grimp.ImportGraph:
    """Return the graph of imports between modules; imports for type checking only are excluded."""
    sys.path.insert(0, str(path))
    try:
        return grimp.build_graph(*roots, exclude_type_checking_imports=True, cache_dir=None)
    finally:
        sys.path.remove(str(path))


def longest_chain(graph: grimp.ImportGraph) -> list[str]:
    """Return the modules of the longest chain in which each imports the next."""

    @cache
    def chain(module: str) -> tuple[str, ...]:
        below = map(chain, sorted(graph.find_modules_directly_imported_by(module)))
        return (module, *max(below, key=len, default=()))

    return list(max(map(chain, sorted(graph.modules)), key=len, default=()))


def fan_out(graph: grimp.ImportGraph) -> list[tuple[str, int]]:
    """Return each module with the number of modules it imports, largest first."""
    counts = ((name, len(graph.find_modules_directly_imported_by(name))) for name in graph.modules)
    return sorted(counts, key=lambda one: (-one[1], one[0]))


def arguments(source: str) -> Iterator[tuple[str, int]]:
    """Yield each function of a module with its number of arguments.

    ``self`` and ``cls`` do not count.

    >>> list(arguments("def f(a, *, b): ..."))
    [('f', 2)]
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            named = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            own = named[:1] in (["self"], ["cls"])
            yield node.name, len(named) - own


def _folders(path: Path, sources: Iterable[Path]) -> str:
    counts = Counter(
        str(file.parent.relative_to(path)) for file in sources if file.name != "__init__.py"
    )
    return _table("folder", "modules", counts.most_common())


def _imports(graph: grimp.ImportGraph) -> str:
    chain = longest_chain(graph)
    shown = " → ".join(f"`{name}`" for name in chain)
    text = f"Longest chain of imports: {len(chain)} modules.\n{shown}"
    return f"{text}\n\n{_table('widest modules', 'imports', fan_out(graph)[:WIDEST])}"


def _signatures(path: Path, sources: dict[Path, str]) -> str:
    wide: Counter[str] = Counter()
    most: Counter[str] = Counter()
    for file, source in sources.items():
        area = _area(file.relative_to(path))
        for _, n in arguments(source):
            wide[area] += n > MOST_ARGUMENTS
            most[area] = max(most[area], n)
    rows = [(area, f"{wide[area]} (most {most[area]})") for area in sorted(wide)]
    return _table("functions of more than 5 arguments", "", rows)


def _lines(path: Path, sources: dict[Path, str]) -> str:
    long: Counter[str] = Counter()
    longest = 0
    for file, source in sources.items():
        lengths = [len(line) for line in source.splitlines()]
        long[_area(file.relative_to(path))] += sum(length > LINE for length in lengths)
        longest = max(longest, *lengths, 0)
    rows = [*sorted(long.items()), ("the longest line", longest)]
    return _table(f"lines longer than {LINE}", "", rows)


def _area(file: Path) -> str:
    return "core/kernels" if file.parts[:2] == ("core", "kernels") else file.parts[0]


def _table(left: str, right: str, rows: Iterable[tuple[str, object]]) -> str:
    lines = [
        f"| {left} | {right} |",
        "|---|---:|",
        *(f"| {name} | {value} |" for name, value in rows),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
