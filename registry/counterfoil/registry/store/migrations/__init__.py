"""How stores of older formats become stores of this one. Never imported by a server: only ``counterfoil db`` does.

A new format is: a module in ``versions/`` (statements only, since they are written without a connection); the next
number in :data:`~counterfoil.registry.store.formats.FORMAT`; the tables as they are then in ``tables.py``, and in
``schema.sql`` and ``postgres/tables.sql``, of which new stores are made. ``tests/integration/test_store_migrations.py``
says where these differ.
"""
