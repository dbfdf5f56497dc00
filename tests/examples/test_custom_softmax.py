"""examples/custom_softmax.py: three models agree, and the interpreter finds the missing mask."""

from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "custom_softmax.py"


def test_the_three_agree_and_the_error_is_found(run_program):
    lines = run_program(EXAMPLE, "--source").splitlines()
    assert lines[:5] == [
        "MiniGPT in float32: within 1e-05 True",
        "MiniGPT in float16: within 1e-02 True",
        "CustomMiniGPT in float32: within 1e-05 True",
        "CustomMiniGPT in float16: within 1e-02 True",
        "gradient: within 1e-06 True",
    ]
    assert lines[5] == "the interpreter found: x = tl.load(x_ptr + row + offsets)"
    # Of 64 rows of 600, blocks of 1024 leave the tensor from the last row on.
    assert lines[6] == (
        "program (63, 0, 0) reads x_ptr at offset 38400, 38401, 38402, 38403, ... (lane 600, 601, "
        "602, 603, ...; 424 of 1024 lanes), but the tensor of shape (64, 600) has the offsets "
        "0..38399; no mask was given: tl.load(..., mask=...)")
    assert lines[7] == "program softmax_kernel"
    assert any(line.startswith("define void @kernel_") for line in lines)


def test_one_line_differs():
    source = EXAMPLE.read_text(encoding="utf-8")
    plain, custom = (source.split(f"class {name}(")[1].split("\n\n\n")[0].split("def forward")[1]
                     for name in ("MiniGPT", "CustomMiniGPT"))
    different = [pair for pair in zip(plain.splitlines(), custom.splitlines(), strict=True)
                 if pair[0] != pair[1]]
    assert len(different) == 1
