"""Python stages: what runs on workers where a pipeline has no native form. host.py is the program."""
