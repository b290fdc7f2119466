"""Batches of messages as Arrow tables.

``tables.py`` reads the records of a batch, whatever their format, and joins the rows of different writers. Each format
has its :class:`~counterfoil.sdk.serde.arrow.rows.Rows`: Avro in ``avro_rows.py``, on ``avro_types.py`` (a table of the
types) and ``avro_values.py``; JSON and Protobuf in ``rows.py``, from their dicts.
"""
