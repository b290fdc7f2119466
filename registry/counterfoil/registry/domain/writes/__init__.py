"""Write plans as plain values: what a write depends on (guards), and what it does (effects).

Whether a write is permitted, and what it consists of, is decided when it is planned, from what was read without a lock.
A storage decides nothing: under its lock it checks the guards, allots ids, carries out the effects, and records them.
"""
