"""How stores of older formats become stores of this one. Never imported by a server: only ``counterfoil db`` does.

A new format is: ``NNNN_what.sql`` in ``sqlite/`` and in ``postgresql/``, the statements that make it of the one before
(what was released is never changed again); the next number in :data:`~counterfoil.registry.store.formats.FORMAT`; the
tables as they are then in ``schema.sql`` and ``postgres/tables.sql``, of which new stores are made.
``tests/integration/test_store_migrations.py`` says where an upgraded store and a new one differ.
"""
