"""Read rides and write their fares doubled, with Spark; what cannot be read goes to a topic of dead letters.

    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.2 double_fares.py

It reads what is in the topic and ends. The same columns are used with `readStream` and `writeStream`.
"""

from __future__ import annotations

import os

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.sdk import Registry
from counterfoil.sdk.adapters.pyspark import from_registry, to_registry

BROKER = os.environ.get("BROKER", "localhost:9092")
TOPIC = os.environ.get("TOPIC", "taxi-rides")
FARE = '{"type": "record", "name": "Fare", "fields": [{"name": "fare", "type": "double"}]}'


def main(spark: SparkSession) -> None:
    kafka = {"kafka.bootstrap.servers": BROKER, "includeHeaders": "true"}
    records = spark.read.format("kafka").options(**kafka).option("subscribe", TOPIC).load()
    with Registry(os.environ.get("REGISTRY", "http://localhost:8081")) as registry:
        ride = from_registry("value", registry, topic=TOPIC, headers="headers", mode="PERMISSIVE")
        rides = records.withColumn("ride", ride)
        fare = F.when(F.col("ride.value").isNotNull(), F.struct((2 * F.col("ride.value.total_amount")).alias("fare")))
        message = to_registry(fare, registry, topic=f"{TOPIC}.doubled", schema=FARE)
    fares = rides.where("ride.reason IS NULL").select("key", message.alias("value"))
    fares.write.format("kafka").options(**kafka).option("topic", f"{TOPIC}.doubled").save()
    reason = F.struct(F.lit("counterfoil.error.text").alias("key"), F.col("ride.reason").cast("binary").alias("value"))
    bad = rides.where("ride.reason IS NOT NULL")
    letters = bad.select("key", "value", F.concat(F.coalesce("headers", F.array()), F.array(reason)).alias("headers"))
    letters.write.format("kafka").options(**kafka).option("topic", f"{TOPIC}.dead-letters").save()


if __name__ == "__main__":
    main(SparkSession.builder.getOrCreate())
