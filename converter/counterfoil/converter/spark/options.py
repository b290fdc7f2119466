"""What a user sets of the Spark session of a bridge: master, jars, and Spark's own settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

REQUIRED: Final = {
    "spark.task.maxFailures": "1",  # a repeated task writes its records again
    "spark.speculation": "false",  # so does a task that runs twice at the same time
}
"""What every session of a bridge has."""

_OTHERWISE: Final = {
    "spark.master": "give --master",
    "spark.remote": "bridges do not support Spark Connect",
    "spark.sql.session.timeZone": "bridges run in UTC; a rule of the bridge file names another zone",
}
"""Settings that are not given by ``--conf``, and what to do instead."""

_JOINED: Final = {"spark.jars": ",", "spark.jars.packages": ",", "spark.driver.extraJavaOptions": " "}
"""Settings of which both those of a bridge and those of a user count, and what is between them."""

SECRETS: Final = "(?i)secret|password|token|access[.]?key|jaas|keystore"
"""The names and texts of settings that Spark hides in logs and pages: its default, and those of Kafka's logins."""


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """How a session is started. ``settings`` are Spark's own, by their names; they may be secrets."""

    master: str | None = None
    jars: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)


def parse_settings(texts: Iterable[str]) -> dict[str, str]:
    """Return the settings of ``NAME=VALUE`` texts. Raises ``ValueError`` for one that a bridge cannot have.

    >>> parse_settings(["spark.executor.memory=4g"])
    {'spark.executor.memory': '4g'}
    """
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.startswith("spark.") or name != name.strip():
            raise ValueError(f"{text.partition('=')[0]!r} is not the NAME of NAME=VALUE; it begins with 'spark.'")
        if name in _OTHERWISE:
            raise ValueError(f"{name} is not set by --conf: {_OTHERWISE[name]}")
        wanted = REQUIRED.get(name, value)
        if value != wanted:
            raise ValueError(f"{name} must be {wanted}, and not {value}: a repeated task writes records twice")
        found[name] = value
    return found


def joined(own: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a bridge with those of a user, which count where both have one.

    >>> joined({"spark.jars": "a.jar", "spark.ui.port": "1"}, {"spark.jars": "b.jar", "spark.ui.port": "2"})
    {'spark.jars': 'a.jar,b.jar', 'spark.ui.port': '2'}
    """
    both = {name: f"{own[name]}{_JOINED[name]}{given[name]}" for name in _JOINED if own.get(name) and name in given}
    return {**own, **given, **both}


def shown(settings: Mapping[str, str]) -> dict[str, str]:
    """Return those that are no secrets by their names: arguments of a process are seen by every user of the machine."""
    return {name: value for name, value in settings.items() if not re.search(SECRETS, name)}
