"""Records of a topic, or of a file, against what a contract promises: ``counterfoil test``.

``promises.py`` makes the checks (``checks.py``) of a contract; ``tester.py`` evaluates them for batches of records, on
columns (``columns.py``) where there are some, and counts (``tally.py``); ``verdict.py`` makes findings of the counts.
"""
