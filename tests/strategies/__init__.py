"""What tests are made of: generated values, programs to drive, models to compare with, and services that misbehave.

A folder is a subject of tests; its modules are imported as ``strategies.<folder>.<module>``.
"""
