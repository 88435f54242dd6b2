from pathlib import Path

import pytest

from service.processes.compiled import (
    core_dir,
    fingerprint,
    is_compiled,
    mark_compiled,
    processor,
)
from service.processes.compiling import USES, compile_all


@pytest.fixture(autouse=True)
def a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_nothing_is_compiled_until_it_is_marked() -> None:
    assert not is_compiled()
    mark_compiled()
    assert is_compiled()


def test_compiling_reaches_every_group_and_leaves_the_mark() -> None:
    assert [name for name, _ in compile_all()] == list(USES)
    assert is_compiled()


def test_another_source_or_processor_is_not_compiled(tmp_path: Path) -> None:
    mark_compiled()
    (tmp_path / "model.py").write_text("changed")
    assert is_compiled(fingerprint(core_dir(), processor()))
    assert not is_compiled(fingerprint(tmp_path, processor()))
    assert not is_compiled(fingerprint(core_dir(), "another one"))


def test_code_for_every_processor_is_not_that_for_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    this = processor()
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    every = processor()
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "+avx2")
    assert len({this, every, processor()}) == 3


def test_a_new_mark_replaces_the_old_one(a_cache_of_its_own: Path) -> None:
    mark_compiled()
    mark_compiled(fingerprint(core_dir(), "another one"))
    assert len(list(a_cache_of_its_own.glob("compiled-*"))) == 1


def test_a_mark_beside_an_emptied_cache_is_not_believed(a_cache_of_its_own: Path) -> None:
    index = a_cache_of_its_own / "kernels" / "window.window-44.py311.nbi"
    index.parent.mkdir(parents=True)
    index.touch()
    mark_compiled()
    assert is_compiled()
    index.unlink()
    assert not is_compiled()


def test_a_cache_that_cannot_be_written_is_no_error(a_cache_of_its_own: Path) -> None:
    a_cache_of_its_own.write_text("a file where the folder should be")
    mark_compiled()
    assert not is_compiled()
