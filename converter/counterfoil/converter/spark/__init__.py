"""The Spark session of a bridge, and the Java that it runs on."""
