"""Small data sets that keep state, and small ones that do not: one class a case.

A class of `stateful_*` keeps state in one construct of Python; one of `pure_*` keeps none, or a
cache that no sample can see. test_proof.py runs each, to show that it is what it says.
"""
