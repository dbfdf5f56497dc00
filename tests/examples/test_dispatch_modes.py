"""examples/dispatch_modes.py: what is logged, counted and rewritten."""

from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "dispatch_modes.py"


def test_what_the_program_prints(run_program):
    printed = run_program(EXAMPLE).splitlines()
    assert printed[0] == "forward and backward:"
    assert printed[1:8] == [f"  aten.{name}" for name in (
        "t.default", "addmm.default", "relu.default", "t.default", "mm.default",
        "_log_softmax.default", "nll_loss_forward.default")]
    assert "  aten.threshold_backward.default" in printed
    table = printed.index("Module          FLOP    % Total")  # all as PyTorch prints it
    assert printed[table + 2:table + 5] == [
        "Sequential      1360    100.00%", "- aten.addmm     320     23.53%",
        "- aten.mm       1040     76.47%"]
    assert printed[-1] == "rounded products move the outputs by 0.1196"
