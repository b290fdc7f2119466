"""An incompatible change of a schema from the check to the migrated topic, without an error in any consumer.

    make demo

starts a Kafka broker and the registry on free ports, produces taxi rides, checks an incompatible change, converts the
records with Spark, kills the converter in the middle of a batch, and verifies that no record was lost or repeated. The
same change is also an intended break of a contract: converter, producer and consumer are deployed in this order. The
exit status is 0 only if every step has the expected result.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "deploy"))

import rides  # noqa: E402 - the path above comes first
import topics  # noqa: E402
from agreements import Agreements  # noqa: E402
from steps import Steps, UnexpectedResultError  # noqa: E402

from counterfoil.converter.errors import MissingPart  # noqa: E402
from counterfoil.converter.spark.java import check_java  # noqa: E402
from counterfoil.schema import Schema  # noqa: E402
from counterfoil.schema.errors import IncompatibleSchema  # noqa: E402
from counterfoil.sdk import Registry  # noqa: E402
from local_services import KafkaBroker, RegistryProcess, ServiceError, connector_jars, wait_until  # noqa: E402
from local_services.jars import JarsUnavailableError  # noqa: E402

COUNTERFOIL = str(Path(sys.executable).with_name("counterfoil"))
FIRST_RUN = 60_000
SECOND_RUN = 180_000
PARTITIONS = 3


def schema(path: str) -> str:
    """Return the text of a schema file of this example."""
    return (HERE / "schemas" / path).read_text()


class Demo:
    """The services and the folder of one run."""

    def __init__(self, steps: Steps, services: ExitStack) -> None:
        self.steps = steps
        self.services = services
        self.folder = Path(services.enter_context(tempfile.TemporaryDirectory(prefix="counterfoil-demo-")))
        self.old_total = 0.0

    def run(self, *arguments: str, expected: int, cwd: Path | None = None) -> str:
        """Run counterfoil and return what it printed; any other exit code than ``expected`` is an error."""
        done = subprocess.run(
            [COUNTERFOIL, *arguments], capture_output=True, text=True, cwd=cwd, env=self.environment(), check=False
        )
        self.steps.expect(
            is_met=done.returncode == expected,
            otherwise=f"`counterfoil {' '.join(arguments)}` ended with {done.returncode}, not {expected}:\n"
            f"{done.stdout}{done.stderr}",
        )
        return done.stdout

    def environment(self) -> dict[str, str]:
        """Return the environment of counterfoil's commands, with the addresses of the services."""
        return {
            **os.environ,
            "COUNTERFOIL_REGISTRY_URL": self.registry.url,
            "COUNTERFOIL_BOOTSTRAP_SERVERS": self.broker.bootstrap_servers,
            "COUNTERFOIL_JARS": str(connector_jars()),
            "NO_COLOR": "1",
        }

    def start_services(self) -> None:
        self.broker = self.services.enter_context(KafkaBroker())
        store = f"sqlite:///{self.folder}/registry.db"
        self.registry = self.services.enter_context(RegistryProcess(store=store, program=Path(COUNTERFOIL)))
        self.client = self.services.enter_context(Registry(self.registry.url))
        self.agreements = Agreements(self.folder, self.client, run=self.run, steps=self.steps)
        self.steps.report(f"the registry's web pages, until the demo ends: {self.registry.url}/ui/")
        self.steps.report(f"Kafka at {self.broker.bootstrap_servers}, registry at {self.registry.url} (SQLite)")

    def produce_old_rides(self) -> None:
        self.broker.create_topic("rides", partitions=PARTITIONS)
        old = [(int(row["VendorID"]), rides.as_version_1(row)) for row in rides.rows()]
        self.old_total = sum(record["total_amount"] for _, record in old)
        texts = schema("v1/ride_key.avsc"), schema("v1/ride_value.avsc")
        count = topics.produce(self.broker.bootstrap_servers, self.client, "rides", schemas=texts, records=old)
        self.steps.report(f"{count} rides in topic rides, schemas in subjects {', '.join(self.client.subjects())}")

    def judge_the_change(self) -> None:
        repository = self.folder / "repository"
        file = repository / "schemas" / "ride_value.avsc"
        file.parent.mkdir(parents=True)
        file.write_text(schema("v1/ride_value.avsc"))
        for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Rides, version 1"]):
            identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"]
            subprocess.run(["git", *identity, *command], cwd=repository, check=True)
        file.write_text(schema("v2/ride_value.avsc"))
        report = self.folder / "check.json"
        self.run("check", "schemas", "--against", "main", "--format", f"json={report}", expected=1, cwd=repository)
        findings = json.loads(report.read_text())["findings"]
        for each in findings:
            self.steps.report(f"{each['path']}:{each['line']}:{each['column']}  {each['rule']}  {each['element']}")
        proof = next(each["witness"] for each in findings if each["element"] == "total_amount")
        self.steps.report(f"for example, {json.dumps(proof['datum'])}")
        self.steps.report(f"was written with version 1 and cannot be read: {proof['step']}")
        broken = {each["element"] for each in findings if each.get("witness")}
        expected = {"total_amount", "distance_miles", "payment_method", "payment_outcome", "pickup_at"}
        self.steps.expect(is_met=broken == expected, otherwise=f"findings with a witness: {broken}, not {expected}")
        self.steps.report(
            f"counterfoil check fails (exit 1): {len(findings)} findings, each with a record that proves it"
        )

    def register_is_refused(self) -> None:
        try:
            self.client.register("rides-value", Schema(schema("v2/ride_value.avsc")))
        except IncompatibleSchema as refused:
            self.steps.expect(is_met=refused.status == 409, otherwise=f"the registry answered {refused.status}")  # noqa: PLR2004 - HTTP's Conflict
            self.steps.show(str(refused)[:600] + " …")
        else:
            self.steps.fail("the registry accepted an incompatible schema")
        self.steps.report("the registry answers 409 with the same reasons; rides-value is unchanged")

    def plan_the_bridge(self) -> None:
        for topic in ("rides-v2", "rides-v2.dead-letters"):
            self.broker.create_topic(topic, partitions=PARTITIONS)
        texts = schema("v1/ride_key.avsc"), schema("v2/ride_value.avsc")
        sample = list(rides.replayed(2_000))
        topics.produce(self.broker.bootstrap_servers, self.client, "rides-v2", schemas=texts, records=sample)
        shutil.copy(HERE / "bridge.yaml", self.folder)
        self.steps.show(self.run("bridge", "plan", "bridge.yaml", expected=0, cwd=self.folder))
        self.steps.show(self.run("bridge", "check", "bridge.yaml", expected=0, cwd=self.folder))
        self.agreements.register_bridge()
        self.steps.report(
            "every field of version 1 is filled; sampled records are converted, and those that cannot be are listed"
        )

    def produce_new_rides(self, count: int, *, first: int) -> None:
        texts = schema("v1/ride_key.avsc"), schema("v2/ride_value.avsc")
        records = rides.replayed(count, first=first)
        topics.produce(self.broker.bootstrap_servers, self.client, "rides-v2", schemas=texts, records=records)
        self.steps.report(f"{count} rides of version 2 in topic rides-v2, some of which cannot be converted")

    def bridge_command(self) -> list[str]:
        return [
            "bridge", "run", "bridge.yaml", "--available-now", "--checkpoint", str(self.folder / "checkpoint"),
            "--max-offsets-per-trigger", "50000",
        ]  # fmt: skip

    def convert(self) -> None:
        printed = self.run(*self.bridge_command(), expected=0, cwd=self.folder)
        self.steps.show(printed)
        self.steps.report(f"bridge run {printed.splitlines()[-1].partition(', dead letters')[0]}")

    def old_consumer_reads(self) -> None:
        found = topics.read_as_version_1(self.broker.bootstrap_servers, self.client, "rides")
        expected = [record for _, record in rides.replayed(FIRST_RUN)]
        tombstones = sum(record is None for record in expected)
        impossible = sum(
            record is not None and (record["total_amount"] == "n/a" or record["payment_method"] == "CRYPTO")
            for record in expected
        )
        amounts = [
            float(record["total_amount"])
            for record in expected
            if record and record["total_amount"] != "n/a" and record["payment_method"] != "CRYPTO"
        ]
        old = len(rides.rows())
        letters = topics.dead_letters(self.broker.bootstrap_servers, "rides-v2.dead-letters")
        for reason, count in sorted(letters.items()):
            self.steps.report(f"{count} dead letters: {' at '.join(reason)}")
        facts = {
            "bridged records": (found.bridged, FIRST_RUN - impossible),
            "all records": (found.records, old + FIRST_RUN - impossible),
            "tombstones": (found.tombstones, tombstones),
            "records with their headers": (found.with_headers, found.records),
            "schema ids": (len(found.schema_ids), 1),
            "dead letters": (letters.total(), impossible),
            "fields that dead letters name": ({name for _, name in letters}, {"total_amount", "payment_type"}),
        }
        for what, (found_value, wanted) in facts.items():
            self.steps.expect(is_met=found_value == wanted, otherwise=f"{what}: {found_value}, not {wanted}")
        total = self.old_total + sum(amounts)
        self.steps.expect(
            is_met=abs(found.total_amount - total) < 0.01 * len(expected),
            otherwise=f"the old consumer adds up to {found.total_amount:.2f}, not {total:.2f}",
        )
        self.steps.report(f"the old consumer, unchanged, reads {old} old and {found.bridged} bridged rides")

    def kill_and_restart(self) -> None:
        self.produce_new_rides(SECOND_RUN, first=FIRST_RUN)
        log = self.folder / "killed.log"
        with log.open("wb") as output:
            converter = subprocess.Popen(
                [COUNTERFOIL, *self.bridge_command()], cwd=self.folder, env=self.environment(),
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        before = self.written()

        def is_half_way() -> bool:
            self.steps.expect(is_met=converter.poll() is None, otherwise=f"the converter ended:\n{log.read_text()}")
            return self.written() - before > SECOND_RUN // 3

        try:
            wait_until(is_half_way, what="the converter to be half-way", deadline_s=900)
        finally:
            os.killpg(converter.pid, 9)
            converter.wait()
        done = self.written() - before
        self.steps.expect(is_met=done < SECOND_RUN * 0.98, otherwise="the converter had finished before it was killed")
        self.steps.report(f"SIGKILL after {done} of {SECOND_RUN} records, in the middle of a batch; started again:")
        self.convert()
        self.steps.report(f"killed after {done} records, started again: {self.written() - before} records, none twice")

    def written(self) -> int:
        """Return how many records are in the target and among the dead letters."""
        names = ("rides", "rides-v2.dead-letters")
        return sum(sum(topics.end_offsets(self.watcher, name).values()) for name in names)

    @property
    def watcher(self):  # noqa: ANN201 - confluent_kafka ships no types
        if not hasattr(self, "_watcher"):
            self._watcher = topics.Consumer({"bootstrap.servers": self.broker.bootstrap_servers, "group.id": "watcher"})
            self.services.callback(self._watcher.close)
        return self._watcher

    def verify(self) -> None:
        report = self.folder / "verify.json"
        arguments = ["--format", "text", "--format", f"json={report}"]
        self.steps.show(self.run("bridge", "verify", "bridge.yaml", *arguments, expected=0, cwd=self.folder))
        facts = json.loads(report.read_text())
        wanted = {"source": FIRST_RUN + SECOND_RUN, "missing": 0, "repeated": 0}
        seen = {name: facts["totals"][name] for name in wanted}
        self.steps.expect(is_met=seen == wanted, otherwise=f"verify reports {seen}, not {wanted}")
        self.steps.report(f"each of {wanted['source']} records exactly once in rides or among the dead letters")


def carry_out(steps: Steps, services: ExitStack) -> None:
    """Carry out all steps."""
    demo = Demo(steps, services)
    with steps.step("A Kafka broker and the registry start"):
        demo.start_services()
    with steps.step("Taxi rides are produced with schema version 1"):
        demo.produce_old_rides()
    with steps.step("A developer changes the schema; the check in CI reports it"):
        demo.judge_the_change()
    with steps.step("The registry refuses the changed schema"):
        demo.register_is_refused()
    with steps.step("The new schema gets its own topic, with a bridge to the old one"):
        demo.plan_the_bridge()
    with steps.step("The new producer writes"):
        demo.produce_new_rides(FIRST_RUN - 2_000, first=2_000)
    with steps.step("The bridge converts the existing records (Spark, Kafka to Kafka)"):
        demo.convert()
    with steps.step("An old consumer still reads everything"):
        demo.old_consumer_reads()
    with steps.step("More rides; the converter is killed half-way and started again"):
        demo.kill_and_restart()
    with steps.step("A contract names the bridge as its migration; the check tries it"):
        demo.agreements.check()
    with steps.step("The registry refuses the deployment of the new producer"):
        demo.agreements.publish()
    with steps.step("The converter is deployed, and every record is accounted for"):
        demo.agreements.start()
        demo.verify()
    with steps.step("Producer and consumer are deployed; the old version can go"):
        demo.agreements.deploy()


def main() -> int:
    """Carry out all steps, and return the exit status: 0 if each had the expected result."""
    steps = Steps()
    try:
        check_java()
        with ExitStack() as services:
            carry_out(steps, services)
    except UnexpectedResultError as difference:
        print(f"\nUnexpected result: {difference}", file=sys.stderr)
        return 1
    except (MissingPart, JarsUnavailableError, ServiceError) as missing:
        print(f"\n{missing}", file=sys.stderr)
        return 1
    print(f"\n{steps.table()}")
    print("\nBroker and registry are stopped. A registry of your own, with web pages: counterfoil serve")
    print("\nEvery step had the expected result.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
