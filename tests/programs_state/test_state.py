"""Data sets that keep state in every construct of Python: each lane has its own, as in stock workers."""

from support.same_lines import SameLines


class TestState(SameLines):
    themes = ("state_in_statements", "state_in_arrays", "state_in_methods", "state_in_objects")
