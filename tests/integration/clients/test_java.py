"""Confluent's own Java client against a running registry.

Confluent publishes it on a Maven repository of its own; Apache Flink publishes the same classes on Maven Central, under
another package name. The test itself is ``java/ConfluentClient.java``, run from its source.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.converter.spark.java import check_java
from local_services import jar_folder

if TYPE_CHECKING:
    from local_services import RegistryProcess
    from strategies.access.certified_registry import CertifiedRegistry
    from strategies.access.guarded_registry import GuardedRegistry

SOURCE = Path(__file__).with_name("java") / "ConfluentClient.java"


def test_of_the_java_client(
    live_registry: RegistryProcess, guarded_registry: GuardedRegistry, certified_registry: CertifiedRegistry
):
    class_path = ":".join(str(jar) for jar in sorted(jar_folder("confluent").glob("*.jar")))
    done = subprocess.run(
        [check_java(), "-cp", class_path, SOURCE, live_registry.url],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=guarded_registry.environment(**certified_registry.environment()),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("passed: ") == SOURCE.read_text().count("stories.put(")
