"""Property tests draw the same examples in every run, and no example fails for being slow: the first one may compile."""

from hypothesis import HealthCheck, settings

settings.register_profile("corpuscle", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("corpuscle")
