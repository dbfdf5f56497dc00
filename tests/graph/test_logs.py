"""Names of logs: those of PyTorch are known, others are refused as PyTorch refuses them."""

import logging

import pytest

import yesca as torch
from yesca.base import settings
from yesca.graph import logs

set_logs = torch._logging.set_logs


@pytest.fixture(autouse=True)
def restored():
    with settings.LOGS.override(()):
        yield


def test_unknown_names_are_refused_where_a_function_is_compiled():
    with settings.LOGS.override(("fusion", "nonsense")), \
            pytest.raises(ValueError, match="Invalid log settings: fusion,nonsense, ") as why:
        torch.compile(lambda x: x)
    assert 'For more info on various settings, try TORCH_LOGS="help"' in str(why.value)
    assert "Valid settings:\nall, annotation, aot, " in str(why.value)


@pytest.mark.parametrize("name", ["+dynamo", "-inductor", "perf_hints", "json", "torch._functorch"])
def test_names_of_parts_that_are_not_here_write_nothing(name, capsys):
    with settings.LOGS.override((name,)):
        assert torch.compile(lambda x: x + 1)(torch.ones(1)).item() == 2.0
    assert capsys.readouterr().err == ""


def test_help_lists_what_is_written():
    with settings.LOGS.override(("help",)), pytest.raises(ValueError, match="YESCA_LOGS") as why:
        torch.compile(lambda x: x)
    assert all(f"\n  {name} " in str(why.value) for name in (*logs.WRITTEN, "all"))


def test_all_and_signs():
    for name, wanted in (("all", True), ("+fusion", True), ("-all", False), ("recompiles", False)):
        with settings.LOGS.override((name,)):
            assert logs.on("fusion") is wanted


def test_set_logs_checks_names_and_values():
    with pytest.raises(TypeError, match=r"set_logs\(\) got an unexpected keyword argument 'nope'"):
        set_logs(nope=True)
    for arguments, why in (
        ({"modules": {"nope": 10}}, "Unrecognized log or artifact name passed to set_logs: nope"),
        ({"fusion": logging.ERROR}, "Expected bool to enable artifact fusion, received 40"),
        ({"dynamo": 7}, "Unrecognized log level for log dynamo: 7, valid level values are: "
                        "50,40,30,20,10,0"),
    ):
        with pytest.raises(ValueError, match=why):
            set_logs(**arguments)


def test_set_logs_chooses():
    set_logs(fusion=True, output_code=False, dynamo=logging.ERROR, inductor=logging.DEBUG,
             modules={"recompiles": True, "json": logging.INFO}, guards=None)
    assert settings.LOGS.get() == ("fusion", "inductor", "recompiles", "json")
