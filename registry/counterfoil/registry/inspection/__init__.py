"""Subjects, versions, comparisons and refusals as people look at them: what ``/inspect/v1`` and the pages show."""
