"""Which examples a property is tried with: the same in every run, or new ones.

Without more, a failure belongs to the change that brought it. HEADRACE_TEST_DRAWS=new draws new examples,
to look for what nobody has found yet; a failure then prints how to repeat it."""

import os

from hypothesis.internal.conjecture import providers

_KINDS = "integers", "floats", "bytes", "strings"
NEW = os.environ.get("HEADRACE_TEST_DRAWS", "same") == "new"


def stay_the_same() -> None:
    """Hypothesis also draws constants out of modules that it takes for the tests' own. Which these are differs with
    the folders in which a machine has them, and with what was loaded before; and so would the examples."""
    assert hasattr(providers, "_get_local_constants"), "hypothesis finds them in another way"
    empty = type(providers.GLOBAL_CONSTANTS)(**{kind: () for kind in _KINDS})
    providers._get_local_constants = lambda: empty
