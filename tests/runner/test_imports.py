"""`import torch` in a program gives yesca's own modules, by PyTorch's names."""

import textwrap

import pytest

import yesca


@pytest.fixture
def run(run_python):
    """Run a program given as text; returns what it printed."""

    def run(source, *arguments, **environment):
        done = run_python("-m", "yesca", "-c", textwrap.dedent(source), *arguments, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_same_module_objects(run):
    out = run("""
        import sys, yesca
        import torch, torch.cuda, torch.backends.cudnn as cudnn
        from torch.torch_version import TorchVersion
        import torch.cuda.memory
        print(torch is yesca, torch.cuda is yesca.cuda is sys.modules["yesca.cuda"])
        print(cudnn is yesca.backends.cudnn, TorchVersion is yesca.torch_version.TorchVersion)
        print(torch.cuda.memory is sys.modules["torch.cuda.memory"])
    """)
    assert set(out.split()) == {"True"}


def test_names_as_pytorch_shows_them(run):
    out = run("""
        import torch
        print(torch.__name__, torch.cuda.__name__, torch.dtype, torch.Size, torch.finfo)
        print(torch.torch_version.TorchVersion, torch.cuda.streams.Event, torch.float32)
        print(torch.cuda.is_available.__module__, torch.cuda.FloatTensor)
    """)
    assert out == (
        "torch torch.cuda <class 'torch.dtype'> <class 'torch.Size'> <class 'torch.finfo'>\n"
        "<class 'torch.torch_version.TorchVersion'> <class 'torch.cuda.streams.Event'> "
        "torch.float32\n"
        "torch.cuda <class 'torch.cuda.FloatTensor'>\n"
    )


def test_missing_modules(run):
    out = run("""
        import importlib, importlib.util
        for words in ("import torch.nothing", "import torch.cuda.nothing", "import torch.no.thing",
                      "import torch.utils.tensorboard", "import torch.export.unflatten",
                      "from torch.fx.experimental import proxy_tensor"):
            try:
                exec(words)
            except ModuleNotFoundError as error:
                print(str(error).partition(":")[0], "|", error.name)
        print(importlib.util.find_spec("torch.nothing"))
    """)
    assert out.splitlines() == [
        "No module named 'torch.nothing' | torch.nothing",
        "No module named 'torch.cuda.nothing' | torch.cuda.nothing",
        "No module named 'torch.no' | torch.no",
        *(f"No module named '{name}' (PyTorch has it; yesca does not have it yet | {name}"
          for name in ("torch.utils.tensorboard", "torch.export",
                       "torch.fx")),
        "None",
    ]


def test_missing_names(run):
    out = run("""
        import torch
        try:
            from torch import nothing
        except ImportError as error:
            print(type(error).__name__, str(error).partition(" (")[0])
        try:
            torch.nothing
        except AttributeError as error:
            print(error)
    """)
    assert out.splitlines() == [
        "ImportError cannot import name 'nothing' from 'torch'",
        "module 'torch' has no attribute 'nothing'",
    ]


def test_what_libraries_check(run):
    out = run("""
        import importlib.metadata as metadata, importlib.util, importlib.resources
        spec = importlib.util.find_spec("torch")
        print(spec.name, spec.origin.endswith("__init__.py"), len(spec.submodule_search_locations))
        print(importlib.util.find_spec("torch.cuda") is not None)
        print(metadata.version("torch"), metadata.metadata("Torch")["Name"])
        print(metadata.requires("torch"), metadata.distribution("torch").version)
        print(metadata.packages_distributions()["torch"][0])
        print([d.version for d in metadata.distributions(name="torch")][0])
        import torch
        print(type(torch.__version__).__name__, torch.__version__, torch.version.cuda)
        print(importlib.util.find_spec("torch") is torch.__spec__, importlib.reload(torch) is torch)
        try:
            metadata.version("no-such-thing")
        except metadata.PackageNotFoundError:
            print("not found")
    """)
    assert out.splitlines() == [
        "torch True 1", "True", "2.13.0 torch", "['numpy', 'llvmlite'] 2.13.0", "torch", "2.13.0",
        "TorchVersion 2.13.0 None", "True True", "not found",
    ]


def test_another_torch_is_not_touched(run, tmp_path):
    (tmp_path / "torch.py").write_text("raise SystemExit('another torch')")
    assert run("import torch; print(torch.version.yesca)").strip() == yesca.version.yesca


def test_pickles_carry_pytorch_names_in_a_program_only(run, run_python):
    source = "import pickle, {} as t; print(pickle.loads(pickle.dumps(t.float32)), t.dtype)"
    assert run(source.format("torch")) == "torch.float32 <class 'torch.dtype'>\n"
    plain = run_python("-c", source.format("yesca"))
    assert plain.stdout == "torch.float32 <class 'yesca.dtype'>\n"


def test_a_module_of_torch_as_a_program(run_python, tmp_path):
    done = run_python("-m", "yesca", "-m", "torch.cuda.nvtx")
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_happens_without_the_runner(run_python):
    done = run_python("-c", "import yesca, sys; print('torch' in sys.modules, len(sys.meta_path))")
    bare = run_python("-c", "import sys; print('torch' in sys.modules, len(sys.meta_path))")
    assert done.stdout == bare.stdout


def test_triton_is_the_language_of_kernels(run_python, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent("""
        import importlib.metadata
        import torch, triton, yesca
        import triton.language as tl
        from triton import cdiv
        from triton.language.extra import libdevice

        @triton.jit
        def double(x_ptr, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + i, mask=i < n)
            tl.store(x_ptr + i, x + libdevice.fabs(x) + tl.extra.cuda.libdevice.sqrt(x * x),
                     mask=i < n)

        x = torch.ones(10)
        double[(cdiv(10, 4),)](x, 10, BLOCK=4)
        print(x.sum().item(), triton is yesca.kernels, triton.jit is yesca.kernel)
        print(triton.__name__, triton.CompilationError.__module__, triton.__version__
              == importlib.metadata.version("triton"))
        try:
            import triton.nothing
        except ModuleNotFoundError as error:
            print(error.name)
    """))
    done = run_python("-m", "yesca", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("30.0 True True\ntriton triton.errors True\ntriton.nothing\n")
