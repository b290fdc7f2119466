"""Real services on this machine, for the demo, the tests and the benchmarks: Kafka, PostgreSQL, the registry, the jars.

Each service listens on 127.0.0.1 on a free port, is polled until it is ready or a deadline passes, and is stopped by
its own process id. Nothing here is part of the installed package.
"""

from local_services.broker import KafkaBroker, KafkaClient, Listener
from local_services.cache import cache_folder
from local_services.jars import JarsUnavailableError, jar_folder
from local_services.newest_spark import connector_jars, newest_spark_environment, newest_spark_version
from local_services.pgbouncer import PgBouncer
from local_services.postgres import PostgresClient, PostgresServer
from local_services.process import RUN_FOLDER, ServiceError, free_port, stop_services_of, wait_until
from local_services.quixstreams import quixstreams_environment
from local_services.registry import INSTALLED, RegistryProcess, start_registry
from local_services.spark_cluster import SparkCluster

__all__ = [
    "INSTALLED",
    "RUN_FOLDER",
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
    "newest_spark_environment",
    "newest_spark_version",
    "quixstreams_environment",
    "start_registry",
    "stop_services_of",
    "wait_until",
]
