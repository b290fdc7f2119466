"""A Spark session for a bridge: with the connectors, without retries of tasks, and with its output in a file."""

from __future__ import annotations

import errno
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from counterfoil.converter.errors import MissingPart, writing_to
from counterfoil.converter.spark.java import (
    archive_file,
    archive_options,
    check_java,
    forward_termination,
    ignore_termination,
)
from counterfoil.converter.spark.options import REQUIRED, SECRETS, SparkOptions, joined, shown
from counterfoil.converter.spark.versions import pyspark_version, spark_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_NAME: Final = "counterfoil bridge"
_APP_NAME: Final = "spark.app.name"
_PYTHON: Final = "spark.pyspark.python"
_LACKS: Final = {
    "data source: kafka": "Kafka",
}
"""What Spark says of a connector that it does not have."""

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log}
appender.file.filePattern = {log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = SizeBasedTriggeringPolicy
appender.file.policies.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
"""


def connector_settings(jars: Path | None) -> dict[str, str]:
    """Return the setting that loads the Kafka connector of the running PySpark's version.

    They come from the folder ``jars`` if it is given, else from Maven Central. Raises ``MissingPart`` if the folder
    lacks it, or a library that it needs.
    """
    if jars is None:
        return {"spark.jars.packages": connector_coordinates()}
    return {"spark.jars": ",".join(map(str, _connectors_in(jars)))}


def connector_coordinates() -> str:
    """Return the Maven coordinates of the Kafka connector of the running PySpark."""
    return f"org.apache.spark:{spark_line().connector}:{pyspark_version()}"


def _connectors_in(jars: Path) -> list[Path]:
    """Return the jars in a folder; raise ``MissingPart`` if a connector is not among them."""
    version, line = pyspark_version(), spark_line()
    found = sorted(jars.glob("*.jar"))
    names = [jar.name for jar in found]
    connector = f"{line.connector}-{version}.jar"
    lacking = [] if connector in names else [connector]
    beside = line.beside_connector
    lacking += [f"{name}-*.jar" for name in beside if not any(jar.startswith(f"{name}-") for jar in names)]
    if lacking:
        raise MissingPart(f"The folder {jars} lacks {', '.join(lacking)}, which PySpark {version} needs for a bridge")
    return found


def refuse_real_time() -> NoReturn:
    """Raise ``MissingPart``: in real-time mode, Spark notes the offsets of a batch only after it has written it."""
    raise MissingPart(
        "Bridges do not support the real-time trigger of Spark, which PySpark has since 4.2: it notes the offsets of a "
        "batch only after it, so that a restart does not know what an unfinished batch has written. The smallest "
        "latency is that of --continuous --trigger 0"
    )


def refuse_connect(master: str | None) -> None:
    """Raise ``MissingPart`` where PySpark would connect to a server of Spark Connect instead of starting Java."""
    found = [f"--master {master}"] if (master or "").startswith("sc://") else []
    found += [name for name in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED") if name in os.environ]
    if os.environ.get("SPARK_API_MODE", "").lower() == "connect":
        found.append("SPARK_API_MODE")
    if found:
        raise MissingPart(
            f"Bridges and sketches do not support Spark Connect, which {' and '.join(found)} requests: a classic Spark "
            "session is needed, with --master local[*] or the address of a cluster, or by spark-submit"
        )


def start_session(options: SparkOptions, *, log_file: Path) -> SparkSession:
    """Start and return a session for a bridge; the output of Spark and Java is written to ``log_file``.

    The file with the settings of the log is written beside it.

    Under spark-submit the session is the one that was submitted, with the connectors in ``options.jars`` added to it,
    and its master; otherwise the master None is ``local[*]``. Raises ``MissingExtra`` when PySpark is not there, and
    ``MissingPart`` when Java or the connectors are not, or the submitted session lacks what a bridge needs.
    """
    refuse_connect(options.master)
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    settings |= {"spark.sql.session.timeZone": "UTC", "spark.redaction.regex": SECRETS}
    if is_submitted():
        return _submitted_session(settings, options, log_file)
    master = options.master or "local[*]"
    settings |= {**REQUIRED, **_launch_settings(options, master, log_file)}
    settings = joined(settings, options.settings)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(settings.get(_APP_NAME, _NAME)).master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    with start_explained(log_file):
        start_java({**settings, "spark.master": master}, log_file)
        session = builder.getOrCreate()
    check_session(session)
    return session


def is_submitted() -> bool:
    """Return whether spark-submit has started this program, and Java before it."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _submitted_session(settings: Mapping[str, str], options: SparkOptions, log_file: Path) -> SparkSession:
    """Return the session that was submitted. It is refused before it starts if it would repeat tasks."""
    if options.settings:
        raise MissingPart(
            f"spark-submit has started Spark without {', '.join(sorted(options.settings))}: give it these settings "
            "before the program, not behind 'run'"
        )
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    with start_explained(log_file):
        SparkContext._ensure_initialized()  # noqa: SLF001 - the settings that were submitted are in its Java
        submitted = SparkConf()
    own = str(submitted.get("spark.master", "local[*]"))
    if options.master is not None and options.master != own:
        raise MissingPart(
            f"spark-submit has the master {own}, which --master {options.master} does not change; leave it out"
        )
    check_settings(submitted.get, own)
    more = {name: value for name, value in settings.items() if not name.startswith("spark.ui.")}
    if options.jars is not None:
        connectors = _connectors_in(options.jars)
        more["spark.jars"] = _with_jars(submitted.get("spark.jars", "") or "", connectors)
        _add_to_driver(connectors)
    builder = SparkSession.builder.appName(_NAME)
    for name, value in more.items():
        builder = builder.config(name, value)
    with start_explained(log_file):
        forward_termination(SparkContext._jvm)  # noqa: SLF001 - only Java handles its signals
        session = builder.getOrCreate()
    check_session(session)
    return session


def _with_jars(submitted: str, jars: Sequence[Path]) -> str:
    """Return the value of ``spark.jars``: those that were submitted, and others that have other names."""
    given = [each for each in submitted.split(",") if each]
    names = {each.rpartition("/")[2] for each in given}
    return ",".join([*given, *(str(jar) for jar in jars if jar.name not in names)])


def _add_to_driver(jars: Sequence[Path]) -> None:
    """Add jars to the classes of the Java that spark-submit has started; executors get them by ``spark.jars``."""
    from pyspark import SparkContext

    jvm: Any = SparkContext._jvm  # noqa: SLF001 - only Java can load classes
    classes = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for jar in jars:
        classes.addURL(jvm.java.io.File(str(jar)).toURI().toURL())


def _launch_settings(options: SparkOptions, master: str, log_file: Path) -> dict[str, str]:
    check_java()
    settings = connector_settings(options.jars)
    if _PYTHON in options.settings:
        os.environ["PYSPARK_PYTHON"] = options.settings[_PYTHON]  # only spark-submit reads the setting
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    with writing_to(log_file.parent):
        log_file.parent.mkdir(parents=True, exist_ok=True)
        log4j = _log4j_file(log_file.parent, log_file)
    java_options = (
        f"-Dlog4j2.configurationFile=file:{log4j}",
        archive_options(archive_file()),
    )
    settings["spark.driver.extraJavaOptions"] = " ".join(filter(None, java_options))
    return settings


def check_session(session: SparkSession) -> None:
    """Check that ``session`` does not repeat tasks.

    Raise ``MissingPart``, which names the setting to change, if it does.
    """
    check_settings(session.sparkContext.getConf().get, str(session.sparkContext.master))


def check_settings(setting: Callable[[str, str], str | None], master: str) -> None:
    """Raise ``MissingPart`` for settings with which tasks are repeated; it says how to submit a session without them.

    In local mode a task is run once whatever the setting is, unless the master is ``local[N,F]``.
    """
    retries_in_local = master.startswith("local[") and "," in master and not master.endswith(",1]")
    is_local = master == "local" or (master.startswith("local[") and not retries_in_local)
    for name, wanted in REQUIRED.items():
        found = setting(name, "false" if name == "spark.speculation" else "4")
        if found != wanted and not (is_local and name == "spark.task.maxFailures"):
            raise MissingPart(
                f"{name} is {found} in this Spark session and must be {wanted}: a repeated task writes records twice; "
                f"give spark-submit --conf {name}={wanted}"
            )


def check_connectors(session: SparkSession) -> None:
    """Raise ``MissingPart`` if the session has no connector for Kafka, as one that was submitted without it."""
    options = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "none"}  # not connected to
    with connectors_explained():
        session.readStream.format("kafka").options(**options).load()


@contextmanager
def connectors_explained() -> Iterator[None]:
    """Raise ``MissingPart``, which says how to submit a session, where one in the block lacks a connector."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except AnalysisException as failure:
        text = " ".join(str(failure).split())
        lacking = next((name for sign, name in _LACKS.items() if sign in text), None)
        if lacking is None:
            raise
        raise MissingPart(
            f"The Spark session has no connector for {lacking}: {text[:200]}; give --jars or COUNTERFOIL_JARS a folder "
            f"with the connectors, or submit the session with --packages {connector_coordinates()}"
        ) from None


@contextmanager
def start_explained(log_file: Path) -> Iterator[None]:
    """Raise ``MissingPart``, which says what to do, if Spark does not start in the block; ``log_file`` is its log."""
    try:
        yield
    except Exception as failure:  # noqa: BLE001 - PySpark raises several unrelated classes here
        raise MissingPart(_why_not_started(failure, log_file)) from None


def start_java(settings: Mapping[str, str], log_file: Path) -> None:
    """Start Java, if this process has not started it before, with its output in ``log_file``."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:  # noqa: SLF001 - PySpark has one Java in a process, and shows it only there
        return
    arguments = SparkConf().setAll(list(shown(settings).items()))
    with log_file.open("ab") as log:
        gateway = launch_gateway(arguments, {"stdout": log, "stderr": log})
    ignore_termination(gateway.jvm)
    configuration = SparkConf().setAll(list(settings.items())).setAppName(settings.get(_APP_NAME, _NAME))
    SparkContext(conf=configuration, gateway=gateway)


def log_to(session: SparkSession, log_file: Path) -> None:
    """Write the log of a session that ``start_session`` has launched to another file from now on."""
    if not is_submitted():
        jvm: Any = session._jvm  # noqa: SLF001 - Java's log is configured in Java
        with tempfile.TemporaryDirectory(prefix="counterfoil-log4j-") as folder:
            configuration = jvm.java.net.URI(f"file:{_log4j_file(Path(folder), log_file)}")
            jvm.org.apache.logging.log4j.core.config.Configurator.reconfigure(configuration)


def _log4j_file(folder: Path, log_file: Path) -> Path:
    """Write the settings of Java's log to a file in ``folder``, and return its path."""
    path = folder / "log4j.properties"
    path.write_text(_LOG4J.format(log=log_file), encoding="utf-8")
    return path


_CAUSE: Final = re.compile(
    r"^(?:Exception in thread \"[^\"]*\" |Caused by: |Error: (?!A fatal exception)|Error occurred during .+\n)(.+)$",
    re.MULTILINE,
)
"""The lines in which Java says why it ended."""
_LONGEST_CAUSE: Final = 300


def cause_in(log: str) -> str | None:
    r"""Return the reason for which Java ended, from its output: the innermost cause; None if it gives none.

    >>> cause_in("Exception in thread \"main\" java.lang.Error: a\n  at b\nCaused by: java.io.IOException: c")
    'java.io.IOException: c'
    """
    found = [each[1] for each in _CAUSE.finditer(log)]
    return " ".join(found[-1].split())[:_LONGEST_CAUSE] if found else None


def _why_not_started(failure: Exception, log_file: Path) -> str:
    if isinstance(failure, OSError) and failure.errno == errno.ENOSPC:
        return f"Spark did not start: {failure.strerror}, on the disk of {failure.filename or log_file.parent}"
    text = log_file.read_text(encoding="utf-8", errors="replace") if log_file.exists() else ""
    if "unresolved dependency" in text or "UNRESOLVED DEPENDENCIES" in text:
        return (
            f"The Kafka connector of Spark {pyspark_version()} could not be fetched from Maven Central; "
            f"give a folder that has it with --jars or COUNTERFOIL_JARS (details: {log_file})"
        )
    cause = cause_in(text) or " ".join(str(failure).split())[:_LONGEST_CAUSE]
    return f"Spark did not start: {cause} (details: {log_file})"
