"""What a traced call is told of functions in C (stage/call_trace.py): each is judged by the module that it is of."""

import pytest
from headrace.stage import call_trace

pypocketfft = pytest.importorskip("scipy.fft._pocketfft.pypocketfft")


class Method:
    """As pybind11's functions are: methods of an object of its own, which say of which module they are."""

    __self__ = type("record", (), {"__module__": "pybind11_builtins"})()

    def __init__(self, module, name):
        self.__module__, self.__name__ = module, name


@pytest.mark.parametrize("own", [True, False])
def test_functions_of_pybind11_are_judged_by_their_modules(own):
    refused = call_trace._of_builtin
    assert refused(pypocketfft.r2c, own) == ""
    assert "unknown_library.r2c" in refused(Method("unknown_library", "r2c"), own)
    assert refused(Method("scipy.fft._pocketfft", "r2c"), own) == ""
    assert "depends on more" in refused(Method("torch._C", "manual_seed"), own)
    assert refused(Method(None, "r2c"), own)
