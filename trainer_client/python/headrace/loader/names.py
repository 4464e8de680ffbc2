"""Names of modules that the seam looks for, and does not import."""

STATEFUL = "torchdata.stateful_dataloader.stateful_dataloader"
