"""What Headrace itself raises. Errors of the user's own code keep their own types."""


class HeadraceError(RuntimeError):
    """Base class. A RuntimeError, which is what the stock DataLoader raises for lost workers."""


class OptionError(HeadraceError, ValueError):
    """An option or environment variable that cannot be used."""


class CoordinatorUnavailable(HeadraceError, ConnectionError):
    """No coordinator answers at the configured address, or none could be started."""


class WorkersUnavailable(HeadraceError):
    """No worker is left and none can be started."""


class Unsupported(WorkersUnavailable):
    """No worker can run this plan. The message says which, why and what to do."""


class SamplesDiffer(HeadraceError):
    """A worker made other samples than the dataset's own code does. The message says which."""


class BatchesDiffer(HeadraceError):
    """A worker elsewhere made other batches than this host, and some were used. The message says which."""


class VersionMismatch(HeadraceError):
    """The other side is of another release."""


class OutOfMemory(HeadraceError, MemoryError):
    """The slots for batches do not fit into shared memory or into the set limit."""


class StateError(HeadraceError, ValueError):
    """A state_dict that does not fit this loader."""


class SampleDeadline(HeadraceError, TimeoutError):
    """A sample was not made within --sample-deadline."""
