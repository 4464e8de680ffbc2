from hypothesis import HealthCheck, settings

# The examples are the same in every run: a failure belongs to the change that brought it.
settings.register_profile(
    "headrace",
    max_examples=100,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("headrace")
