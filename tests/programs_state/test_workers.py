"""What worker processes are, how they fail, what they make and of which keys."""

from support.same_lines import SameLines


class TestWorkers(SameLines):
    themes = (
        "worker_processes",
        "failures",
        "batches",
        "batch_memory",
        "samplers_and_streams",
        "start_methods",
        "shapes_of_data_sets",
        "odd_batches_and_errors",
    )
