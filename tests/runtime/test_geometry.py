"""How launches are cut into chunks."""

import pytest

from yesca.runtime.geometry import LINE, evened


@pytest.mark.parametrize("step", [1, 16, LINE])
@pytest.mark.parametrize("grain", [1, 131, 2048, 32768])
def test_chunks_are_whole_steps_and_not_too_large(grain, step):
    for total in (1, 5, 130, 400, 32769, 100_000, 4_000_000):
        found = evened(total, grain, step)
        assert found >= 1
        assert found % step == 0
        if total <= grain:
            assert found >= total
            continue
        assert found <= -(-grain // step) * step  # never larger than asked for


@pytest.mark.parametrize("total, grain, step, expected", [
    (100_000, 32768, LINE, 25024), (400, 131, 1, 100), (32768, 32768, LINE, 32768),
    (32769, 32768, LINE, 8256), (3, 1, 1, 1), (5, 4, 16, 16), (1_000_000, 32768, 1, 31250),
])
def test_two_or_four_threads_have_as_much_to_do(total, grain, step, expected):
    assert evened(total, grain, step) == expected
