"""A real Kafka broker: one node, KRaft, on free ports, in a folder of its own."""

from __future__ import annotations

import base64
import subprocess
import tempfile
import uuid
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from counterfoil.converter.spark.java import check_java
from local_services.jars import jar_folder
from local_services.process import PATIENCE_S, Service, ServiceError, free_port

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

# The two session settings let a killed broker register again at once; the others let one node be enough. Access is
# restricted on resources with ACLs only.
_PROPERTIES = """\
node.id=1
process.roles=broker,controller
listeners=CLIENT://127.0.0.1:{client_port},{more}CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners={more}CLIENT://127.0.0.1:{client_port}
listener.security.protocol.map=CLIENT:PLAINTEXT,{protocols}CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENT
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller_port}
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
default.replication.factor=1
min.insync.replicas=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
"""


@dataclass(frozen=True)
class Listener:
    """One more listener of a broker: its protocol, such as ``SASL_PLAINTEXT``, and its settings by their last parts."""

    name: str
    protocol: str
    settings: Mapping[str, str]


class KafkaClient:
    """A Kafka cluster at ``bootstrap_servers``, also one that was started elsewhere.

    Topics are created with ``create_topic`` only: writing to a topic does not create it.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers

    @cached_property
    def admin(self) -> Any:
        """A confluent-kafka ``AdminClient`` for this broker."""
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})

    def create_topic(self, name: str, *, partitions: int = 1, settings: Mapping[str, str] | None = None) -> None:
        """Create a topic that keeps records of any age, and return when clients can see it."""
        from confluent_kafka.admin import NewTopic

        config = {"retention.ms": "-1", **(settings or {})}
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config)
        for created in self.admin.create_topics([topic]).values():
            created.result(PATIENCE_S)


class KafkaBroker(KafkaClient):
    """A running broker; a context manager that stops it and removes its data.

    ``addresses`` are those of its ``listeners``, by name; ``bootstrap_servers`` has neither login nor encryption.
    """

    def __init__(self, *, folder: Path | None = None, listeners: Sequence[Listener] = ()) -> None:
        self._own_folder = None if folder else tempfile.TemporaryDirectory(prefix="counterfoil-kafka-")
        self.folder = folder or Path(self._own_folder.name if self._own_folder else "")
        self._client_port = free_port()
        super().__init__(f"127.0.0.1:{self._client_port}")
        self.addresses = {each.name: f"127.0.0.1:{free_port()}" for each in listeners}
        self._properties = self.folder / "server.properties"
        self._properties.write_text(
            _PROPERTIES.format(
                client_port=self._client_port,
                controller_port=free_port(),
                data=self.folder / "data",
                more="".join(f"{name}://{address}," for name, address in self.addresses.items()),
                protocols="".join(f"{each.name}:{each.protocol}," for each in listeners),
            )
            + "".join(
                f"listener.name.{each.name.lower()}.{name}={value}\n"
                for each in listeners
                for name, value in each.settings.items()
            )
        )
        self._class_path = f"{jar_folder('broker')}/*"
        self._format()
        self._service = self._start()

    def _format(self) -> None:
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        command = [
            check_java(),
            "-Xmx128m",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            self._class_path,
            "kafka.tools.StorageTool",
            "format",
            f"--cluster-id={cluster_id}",  # one argument, since it may begin with a dash
            "--config",
            str(self._properties),
            "--ignore-formatted",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ServiceError(f"The broker's folder could not be formatted:\n{done.stdout}{done.stderr}")

    def _start(self) -> Service:
        options = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]  # less CPU time for a broker of minutes
        command = [check_java(), *options, "-cp", self._class_path, "kafka.Kafka", str(self._properties)]
        service = Service("the Kafka broker", command, log=self.folder / "broker.log")
        service.wait_ready(self._answers)
        return service

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException

        try:
            return bool(self.admin.list_topics(timeout=1).brokers)
        except KafkaException:
            return False

    @property
    def pid(self) -> int:
        """The process id of the broker."""
        return self._service.pid

    def kill(self) -> None:
        """End the broker as a crash does; its data stays."""
        self._service.kill()

    def restart(self) -> None:
        """Start the broker again on the same ports and data."""
        self._service = self._start()

    def stop(self) -> None:
        """Stop the broker and remove the folder, if it was made here."""
        self._service.stop()
        if self._own_folder:
            self._own_folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
