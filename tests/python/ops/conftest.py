import pytest
import torch
from hypothesis import HealthCheck, settings
from support import examples_of_properties
from support.extent import share

settings.register_profile(
    "headrace",
    max_examples=share(100, least=20),
    deadline=None,
    derandomize=not examples_of_properties.NEW,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("headrace")


@pytest.fixture
def one_thread():
    """Uses one thread as the loader's workers do: a mean on several threads adds up in another
    order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
