"""How properties are tested: programs that hypothesis draws, the same ones in every run.

    EXAMPLES=20000 python -m pytest tests/properties      # other ones each time, and more of them
"""

import os

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("EXAMPLES", "0"))


def programs(examples):
    """A decorator: the test gets `choose`, which draws an element of a sequence."""
    wanted = settings(
        max_examples=EXAMPLES or examples, derandomize=not EXAMPLES, database=None, deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large,
                               HealthCheck.filter_too_much, HealthCheck.large_base_example])

    def decorate(test):
        def drawn(data):
            def choose(options):
                return options[data.draw(st.integers(0, len(options) - 1))]

            test(choose)

        drawn.__name__, drawn.__doc__ = test.__name__, test.__doc__
        return wanted(given(data=st.data())(drawn))

    return decorate
