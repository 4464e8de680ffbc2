"""What the trainer and stage hosts ask of a Python process: modules, forks, streams, generators."""
