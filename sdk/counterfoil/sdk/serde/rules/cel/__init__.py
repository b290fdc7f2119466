"""Rules in CEL, Google's Common Expression Language: the types CEL and CEL_FIELD, and inline rules.

``expression`` finds out which parts of a message an expression reads, ``conversion`` passes only those, and ``engines``
evaluates: in Rust, if that is installed and can represent the values, else in Python, with one meaning.
"""
