"""triton.runtime and the tables of triton.testing."""

import pytest

import yesca as torch
from yesca.kernels import runtime, testing


def test_the_device_to_make_tensors_on():
    device = runtime.driver.active.get_active_torch_device()
    assert torch.zeros(2, device=device).device.type == "cpu"
    target = runtime.driver.active.get_current_target()
    assert target.backend == "cpu" and target.warp_size == 1
    sizes = runtime.driver.active.utils.get_device_properties(device.index)
    assert sizes["multiprocessor_count"] >= 1 and sizes["warpSize"] == 1
    runtime.driver.active.get_device_interface().synchronize()


def test_classes_of_kernels():
    from yesca import kernels

    assert runtime.JITFunction is kernels.JITFunction and runtime.Autotuner is kernels.Autotuner


def table(**changed):
    given = {"x_names": ["m", "n"], "x_vals": [2, (3, 4)], "line_arg": "way",
             "line_vals": ["sum", "product"], "line_names": ["Sum", "Product"],
             "plot_name": "numbers", "args": {"scale": 2}}

    @testing.perf_report(testing.Benchmark(**given | changed))
    def measured(m, n, way, scale, more=0.0):
        value = (m + n if way == "sum" else m * n) * scale + more
        return value, value - 1, value + 1

    return measured


def test_a_table_is_printed_and_saved(capsys, tmp_path):
    assert table().run(print_data=True, save_path=str(tmp_path / "new"), more=0.5) is None
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "numbers:" and lines[1].split() == ["m", "n", "Sum", "Product"]
    assert [line.split() for line in lines[2:]] == [["2", "2", "8.5", "8.5"],
                                                    ["3", "4", "14.5", "24.5"]]
    assert (tmp_path / "new" / "numbers.csv").read_text().splitlines() == [
        "m,n,Sum,Product", "2,2,8.5,8.5", "3,4,14.5,24.5"]


def test_a_row_names_all_its_values():
    with pytest.raises(ValueError, match="Expected 2 values"):
        table(x_vals=[(1, 2, 3)]).run()
