"""What Headrace itself raises. Errors of the user's own code keep their own types."""


class HeadraceError(RuntimeError):
    """Base class. A RuntimeError, which is what the stock DataLoader raises for lost workers."""


class OptionError(HeadraceError, ValueError):
    """An option or environment variable that cannot be used."""


class CoordinatorUnavailable(HeadraceError, ConnectionError):
    """No coordinator answers at the configured address, or none could be started."""


class WorkersUnavailable(HeadraceError):
    """No worker is left and none can be started."""


class VersionMismatch(HeadraceError):
    """The other side is of another release."""


class OutOfMemory(HeadraceError, MemoryError):
    """The slots for batches do not fit into shared memory or into the set limit."""


class StateError(HeadraceError, ValueError):
    """A state_dict that does not fit this loader."""


class Unsupported(HeadraceError):
    """The service has no native form for this plan; never reaches the user."""
