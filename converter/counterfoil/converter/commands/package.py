"""``counterfoil bridge package``: a bridge as a job that needs no registry, with the files that start it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import yaml

from counterfoil.converter.bridge import ResolvedBridge, load_bridge_file, resolve_with
from counterfoil.converter.commands import job_files
from counterfoil.converter.commands.job_files import JobDescription
from counterfoil.converter.commands.plan import plan_lines
from counterfoil.converter.errors import BridgeError, writing_to
from counterfoil.converter.run.checkpoint import begun_plan, checkpoint_of
from counterfoil.converter.run.package import BRIDGE, CLASSES, MAIN, PLAN, SCHEMAS, SETTINGS
from counterfoil.converter.spark.options import SparkOptions
from counterfoil.converter.spark.session import connector_coordinates
from counterfoil.converter.spark.start import short_session
from counterfoil.converter.spark.versions import pyspark_version, spark_line
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.client.bundle import write_bundle
from counterfoil.sdk.commands import print_json
from counterfoil.sdk.commands.bundle import make_bundle
from counterfoil.sdk.kafka import KafkaAccess

if TYPE_CHECKING:
    from counterfoil.converter.engines.java.generator import JavaSource
    from counterfoil.sdk.commands.options import RegistryAccess

_EXECUTABLE: Final = 0o755
_ALL_FILES: Final = (
    *(BRIDGE, CLASSES, MAIN, PLAN, SCHEMAS, SETTINGS, "README.md", "requirements.txt", "spark-submit.sh"),
    *("sparkapplication.yaml", "Dockerfile", "databricks.json"),
)


def package_bridge(
    *,
    file: Path,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    engine: str,
    spark: SparkOptions,
    checkpoint: Path | str | None,
    out: Path,
    image: str | None,
    as_json: bool,
) -> ExitCode:
    """Run ``bridge package``: write a folder with the bridge, its schemas, its plan, its classes and its job files."""
    declared = load_bridge_file(file)
    resolved = resolve_with(declared, registry, lambda: begun_plan(checkpoint_of(file, declared.name, None)))
    if out.exists() and any(out.iterdir()) and not (out / PLAN).is_file():
        raise BridgeError(f"The folder {out} is not empty, and is no package of a bridge; name another one")
    chosen, sources = _sources(resolved, engine)
    job = JobDescription(
        bridge=declared.name,
        spark_version=pyspark_version(),
        line=spark_line(),
        connector=connector_coordinates(),
        image=image or f"counterfoil-{job_files.kubernetes_name(declared.name)}:latest",
        arguments=tuple(_arguments(kafka, engine, checkpoint)),
        settings=spark.settings,
        is_lasting=_is_lasting(checkpoint),
    )
    with tempfile.TemporaryDirectory(prefix="counterfoil-package-") as made:
        folder = Path(made)
        _write_classes(folder / CLASSES, sources, spark)
        with registry.open() as client:
            bundle = make_bundle(client, _subjects(resolved), origin=client.settings.urls[0])
        write_bundle(bundle, folder / SCHEMAS)
        shutil.copyfile(file, folder / BRIDGE)
        for name, text in _texts(job, resolved, chosen).items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "spark-submit.sh").chmod(_EXECUTABLE)
        names = _replace(out, folder)
    if as_json:
        print_json(
            {"folder": str(out), "bridge": declared.name, "plan": resolved.hash, "engine": chosen, "files": names}
        )
    else:
        click.echo(f"wrote {out}: bridge {declared.name}, plan {resolved.hash[:16]}, engine {chosen}")
        if not job.is_lasting:
            click.echo(job_files.NOT_LASTING)
        click.echo(f"start it by {out / 'spark-submit.sh'} --master …; {out / 'README.md'} says how elsewhere")
    return ExitCode.OK


def _replace(out: Path, made: Path) -> list[str]:
    """Put the files of a package into a folder, in the place of an earlier one, and return their names."""
    with writing_to(out):
        out.mkdir(parents=True, exist_ok=True)
        for name in _ALL_FILES:
            (out / name).unlink(missing_ok=True)  # an earlier package may have had one that this one has not
        return sorted(Path(shutil.copy2(each, out / each.name)).name for each in made.iterdir())


def _arguments(kafka: KafkaAccess | None, engine: str, checkpoint: Path | str | None) -> Iterator[str]:
    yield from ("--engine", engine)
    if kafka is not None:
        yield from ("--bootstrap-servers", kafka.servers)
    if checkpoint is not None:
        yield from ("--checkpoint", checkpoint if isinstance(checkpoint, str) else str(checkpoint.absolute()))


def _is_lasting(checkpoint: Path | str | None) -> bool:
    """Return whether a checkpoint can be somewhere else than in the container of a job."""
    return checkpoint is not None and (isinstance(checkpoint, str) or checkpoint.is_absolute())


def _subjects(resolved: ResolvedBridge) -> list[str]:
    """Return the subjects of a bridge, and those of its keys."""
    file, keys = resolved.file, resolved.keys
    own = {file.source_subject, file.target_subject}
    return sorted(own if keys is None else own | set(_subjects(keys)))


def _sources(resolved: ResolvedBridge, engine: str) -> tuple[str, list[JavaSource]]:
    """Return the name of the engine that is chosen, and the classes that a run has, in the order of their uses."""
    from counterfoil.converter.engines.choice import choose_engine
    from counterfoil.converter.engines.java.engine import JavaEngine
    from counterfoil.converter.run.checkpoint_files import whole_files_source
    from counterfoil.converter.run.delivery import run_sources

    conversions = [each for each in (resolved.conversion(), resolved.key_conversion()) if each is not None]
    engines = [choose_engine(engine, each).engine for each in conversions]
    found: list[JavaSource] = []
    for each in engines:
        if isinstance(each, JavaEngine):
            found += [*each.source.uses, each.source]
    found += [*run_sources(resolved.file), whole_files_source(spark_line().checkpoint_package)]
    names = sorted({each.name for each in engines})
    return " and ".join(names), list(dict.fromkeys(found))


def _write_classes(path: Path, sources: Sequence[JavaSource], options: SparkOptions) -> None:
    """Compile the classes in a session of Spark, whose connectors they use, and write them as a jar."""
    from counterfoil.converter.engines.java.generator import compile_classes, write_jar

    local = SparkOptions("local[1]", options.jars, options.settings)
    with short_session(local, prefix="counterfoil-package-") as spark:
        jvm: Any = spark._jvm  # noqa: SLF001 - the way to Java that PySpark itself takes
        loader, compiled = jvm.java.lang.Thread.currentThread().getContextClassLoader(), dict[str, bytes]()
        for each in sources:
            classes, loader = compile_classes(jvm, loader, each)
            compiled |= classes
    write_jar(path, compiled)


def _texts(job: JobDescription, resolved: ResolvedBridge, engine: str) -> dict[str, str]:
    """Return the files of text in a package, by their names."""
    needed = "".join(f"{each}\n" for each in job_files.requirements())
    application = yaml.safe_dump(job_files.spark_application(job), sort_keys=False, width=120)
    texts = {
        MAIN: job_files.main_script(),
        SETTINGS: json.dumps({"arguments": list(job.arguments)}, indent=2) + "\n",
        PLAN: job_files.plan_document(
            job, plan_hash=resolved.hash, engine=engine, lines=[*resolved.lines(), *plan_lines(resolved.plan)]
        ),
        "requirements.txt": needed,
        "spark-submit.sh": job_files.submit_script(job),
        "README.md": job_files.readme(job),
    }
    if job.is_lasting:
        texts |= {"sparkapplication.yaml": application, "Dockerfile": job_files.dockerfile(job)}
    if job.is_lasting and job.line.databricks is not None:
        texts["databricks.json"] = json.dumps(job_files.databricks_job(job), indent=2) + "\n"
    return texts
