"""Web pages from values: what the registry, reports of checks and the converter show in a browser.

It reads nothing: a page is made of values that its caller has, and is the same for the same values.
"""
