"""Real services on this machine, for the demo, the tests and the benchmarks: Kafka, PostgreSQL, the registry, the jars.

Each service listens on 127.0.0.1 on a free port, is polled until it is ready or a deadline passes, and is stopped by
its own process id. Nothing here is part of the installed package.
"""

from local_services.broker import KafkaBroker, KafkaClient, Listener
from local_services.cache import cache_folder
from local_services.jars import JarsUnavailableError, jar_folder
from local_services.pgbouncer import PgBouncer
from local_services.postgres import PostgresClient, PostgresServer
from local_services.process import RUN_FOLDER, ServiceError, free_port, stop_services_of, wait_until
from local_services.quixstreams import quixstreams_environment
from local_services.registry import INSTALLED, RegistryProcess, start_registry
from local_services.spark_cluster import SparkCluster
from local_services.spark_versions import TESTED_SPARKS, connector_jars, spark_environment

__all__ = [
    "INSTALLED",
    "RUN_FOLDER",
    "TESTED_SPARKS",
    "JarsUnavailableError",
    "KafkaBroker",
    "KafkaClient",
    "Listener",
    "PgBouncer",
    "PostgresClient",
    "PostgresServer",
    "RegistryProcess",
    "ServiceError",
    "SparkCluster",
    "cache_folder",
    "connector_jars",
    "free_port",
    "jar_folder",
    "quixstreams_environment",
    "spark_environment",
    "start_registry",
    "stop_services_of",
    "wait_until",
]
