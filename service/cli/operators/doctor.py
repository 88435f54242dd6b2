"""`hedgerow doctor`: a report on this machine, the settings and the store, with what is wrong."""

import json
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from llvmlite import binding
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from core.errors import SnapshotFormat
from core.online.config import fingerprint
from core.snapshot import mapped
from service.cli import options
from service.cli.options import say
from service.configs import online_config
from service.errors import Misconfigured, NotFound, ServiceError, StoreRolledBack
from service.metrics.reference import metrics_reference
from service.processes.commands import ONE_THREAD
from service.processes.compiled import cache_dir, is_compiled
from service.settings import Settings
from service.settings_in_effect import redacted
from service.settings_loading import load_settings
from service.settings_reference import settings_reference
from service.store.audit import COMMAND_LINE, DONE, Act, Audit
from service.store.connection import connect
from service.store.identity.memory import Memory
from service.store.models.registry import Registry
from service.store.namespace import open_namespace, read_namespace, scale_text
from service.store.recovery.healing import read_rollbacks
from service.store.recovery.repair import Step, plan
from service.store.server.append_only import lost_manifest, manifest_is_lost
from service.store.server.given import check_given
from service.store.server.inspection import (
    PartitionReport,
    ServerReport,
    inspect_partition,
    inspect_rows,
    inspect_server,
)
from service.store.server.opening import open_store

COMPILING = "1 to 3 minutes"
"""Time to compile on two processors: 125 s were measured beside other work."""

app = options.verb()


@dataclass(frozen=True)
class Finding:
    """One line of the report; ``wrong`` says what to do about it."""

    topic: str
    value: Any
    wrong: str | None = None


@app.command()
def doctor(
    compile_: Annotated[
        bool, typer.Option("--compile", help="Compile all kernels for this machine and end.")
    ] = False,
    reference: Annotated[
        bool, typer.Option("--settings-reference", help="Print docs/reference/settings.md and end.")
    ] = False,
    metrics: Annotated[
        bool, typer.Option("--metrics-reference", help="Print docs/reference/metrics.md and end.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Say what would make a refused store usable, and ask.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --repair: do it without asking.")
    ] = False,
    reopen: Annotated[
        bool,
        typer.Option("--open", help="With --repair: forget that there were API keys."),
    ] = False,
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Check this machine, the settings and the store; the exit code is 1 if something is wrong."""
    if reference:
        typer.echo(settings_reference())
        return
    if metrics:
        typer.echo(metrics_reference())
        return
    if compile_:
        compile_kernels()
        return
    if repair:
        done = repair_store(load_settings(data_dir=data_dir), yes=yes, reopen=reopen)
        raise typer.Exit(0 if done else 1)
    findings = list(examine(load_settings(data_dir=data_dir)))
    if as_json:
        typer.echo(json.dumps({one.topic: one.value for one in findings}, default=str))
    else:
        _show(findings)
    wrong = [f"{one.topic}: {one.wrong}" for one in findings if one.wrong]
    for line in wrong:
        say(line)
    if not as_json:
        say(_summary(len(wrong)))
    raise typer.Exit(1 if wrong else 0)


def compile_kernels() -> None:
    """Compile all kernels with a line for each group, or say that they are compiled."""
    # the report on a machine shall not load numba with it
    from service.processes.compiling import USES, compile_all  # noqa: PLC0415

    if is_compiled():
        say(f"kernels are compiled already ({cache_dir()})")
        return
    console, n = Console(stderr=True), len(USES)
    say(f"compiling the kernels for this machine, once: {COMPILING}, in {n} parts")
    with console.status("compiling the kernels for this machine"):
        for done, (name, seconds) in enumerate(compile_all(), 1):
            console.print(f"{done} of {n}: for {name}, {seconds:.1f} s", highlight=False)


def repair_store(settings: Settings, *, yes: bool, reopen: bool) -> bool:
    """Tell the steps that make a refused store usable, and do them if they are wanted.

    Return whether nothing is left to do.
    """
    files = settings.data_dir / "redis"
    if settings.redis_url is None and manifest_is_lost(files):
        return _done([_manifest_step(files)], yes=yes)
    with open_store(settings) as url, connect(url, role="doctor") as client:
        steps = plan(client, settings)
        if reopen:
            memory = Memory(settings.data_dir)
            says = "forget that there were API keys: without any, everything is open on loopback"
            steps.append(Step(says, lambda: memory.forget_keys(settings.namespace)))
        is_done = _done(steps, yes=yes)
        if is_done and steps:
            about = {"steps": "; ".join(step.says for step in steps)}
            Audit(client, settings.namespace).note_or_log(Act(COMMAND_LINE, "repair", about, DONE))
        return is_done


def _manifest_step(files: Path) -> Step:
    found = lost_manifest(files)
    if found is None:
        raise Misconfigured(
            f"the names of the files in {files} do not say in which order they belong together: "
            "restore a backup of the folder"
        )
    path, text = found
    return Step(f"write {path}:\n{text}", lambda: path.write_text(text))


def _done(steps: list[Step], *, yes: bool) -> bool:
    if not steps:
        say("there is nothing to repair")
        return True
    for number, step in enumerate(steps, 1):
        say(f"{number}. {step.says}")
    if not yes and not (sys.stdin.isatty() and typer.confirm("Do this?")):
        say("nothing was done: add --yes to do it")
        return False
    for step in steps:
        step.do()
    say("done; what runs goes on by itself within seconds")
    return True


def examine(settings: Settings) -> Iterator[Finding]:
    """Yield all findings: settings, machine, store."""
    yield Finding("settings", redacted(settings))
    yield from _machine()
    if settings.redis_url is None and not settings.data_dir.exists():
        yield Finding("store", f"{settings.data_dir} is not there yet: `hedgerow serve` makes it")
        return
    try:
        check_given(settings, waits=False)
        with open_store(settings) as url:
            yield from _store(settings, url)
    except ServiceError as error:
        yield Finding("store", "not usable", str(error))


def _machine() -> Iterator[Finding]:
    yield Finding("hedgerow", version("hedgerow"))
    yield Finding("python", platform.python_version())
    yield Finding("processor", f"{os.cpu_count()} x {binding.get_host_cpu_name()}")
    layer = os.environ.get("NUMBA_THREADING_LAYER", "default")
    yield Finding("numba", f"{version('numba')}, threading layer {layer}")
    compiled = is_compiled()
    yield Finding(
        "kernels",
        f"{'compiled' if compiled else 'not compiled'} ({cache_dir()})",
        None
        if compiled
        else f"run `hedgerow doctor --compile`, or wait {COMPILING} at the first start",
    )
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    yield Finding("BLAS", f"{blas['name']} {blas['version']}")
    yield Finding("BLAS threads", {name: os.environ.get(name, "not set") for name in ONE_THREAD})


def _store(settings: Settings, url: str) -> Iterator[Finding]:
    with connect(url, role="doctor") as client:
        server = inspect_server(client)
        yield Finding("server", f"{server.product} {server.version}")
        yield Finding("durable", server.durable, _unless_wanted(settings, server))
        for step in plan(client, settings):
            yield Finding("repair", step.says, "see `hedgerow doctor --repair`")
        namespace = read_namespace(client, settings.namespace)
        if namespace is None:
            yield Finding("namespace", f"{settings.namespace}: nothing stored yet")
            return
        stored = asdict(namespace) | {"scale": scale_text(namespace.scale)}
        try:
            open_namespace(client, settings)
            yield Finding("namespace", stored)
        except (Misconfigured, StoreRolledBack) as error:
            yield Finding("namespace", stored, error.detail)
        for lost in read_rollbacks(client, namespace.name)[:1]:
            yield Finding("last rollback", f"{options.moment(lost.at_ms)}: {lost}")
        experts = fingerprint(online_config(settings, namespace))
        for partition in range(namespace.partitions):
            refused = inspect_rows(client, namespace.name, partition, experts)
            yield _partition(inspect_partition(client, namespace.name, partition), refused)
        yield from _models(Registry(client, namespace.name))


def _unless_wanted(settings: Settings, server: ServerReport) -> str | None:
    return None if settings.durability == "os" else server.warning


def _partition(report: PartitionReport, refused: str | None) -> Finding:
    wrong = refused
    if not refused and report.leader is None and report.behind > 0:
        wrong = "no learner is running: start `hedgerow serve` or `hedgerow learner`"
    if not wrong and report.dead_letters:
        wrong = "feedback could not be learned: see `hedgerow dead-letters list`"
    values = asdict(report) | {"behind": report.behind}
    return Finding(f"partition {report.partition}", values, wrong)


def _models(registry: Registry) -> Iterator[Finding]:
    """Yield the active model of each strategy, read whole and compared with its checksums."""
    active, pins = registry.active(), registry.pins()
    if not active:
        yield Finding("models", "none yet: `hedgerow retrain` makes the first one")
    for strategy, named in sorted(active.items()):
        try:
            record = registry.record(named)
            mapped(registry.manifest(named), b"".join(registry.chunks(named)))
        except (NotFound, SnapshotFormat) as error:
            does = "go back with `hedgerow models rollback`, or train again with `hedgerow retrain`"
            yield Finding(f"model {strategy}", named, f"{error}; {does}")
            continue
        kept = ", pinned" if pins.get(strategy) == named else ""
        says = f"{record.model} of {options.moment(record.created_ms)}, {record.bytes} bytes{kept}"
        yield Finding(f"model {strategy}", f"{named}: {says}")


def _summary(n_wrong: int) -> str:
    """Return the last line.

    >>> _summary(0), _summary(1), _summary(2)
    ('nothing is wrong', '1 thing to look at', '2 things to look at')
    """
    if not n_wrong:
        return "nothing is wrong"
    return f"{n_wrong} thing{'s' if n_wrong > 1 else ''} to look at"


def _show(findings: list[Finding]) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for one in findings:
        mark = "[red]wrong[/]" if one.wrong else "[green]ok[/]"
        table.add_row(mark, one.topic, escape(_text(one.value)))
    Console().print(table)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        # the table of kinds is as long as everything else together: it is in the JSON form
        lines = [f"{name} = {_text(one)}" for name, one in value.items() if name != "kinds"]
        return "\n".join(lines)
    return "none" if value is None else str(value)
