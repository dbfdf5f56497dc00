"""Worker processes of a program can import torch, and see the program's main module."""

import sys
import textwrap

import pytest

POOLS = """
    import multiprocessing, sys
    import torch

    class Task:
        def __init__(self, number):
            self.number = number

    def work(task):
        import torch.version
        return task.number, str(torch.__version__), type(task).__module__, sys.argv[1:]

    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1])
        with context.Pool(1) as pool:
            print(pool.map(work, [Task(1), Task(2)]))
"""

EXECUTOR = """
    from concurrent.futures import ProcessPoolExecutor
    import multiprocessing, torch

    def work(x):
        return f"{x} {torch.float32}"

    if __name__ == "__main__":
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as executor:
            print(executor.submit(work, 3).result())
"""

SPAWN = """
    import torch.multiprocessing as mp

    def work(index, value):
        if index == value:
            raise ValueError(f"no {value}")

    if __name__ == "__main__":
        mp.spawn(work, (5,), nprocs=2)
        for join in (True, False):
            try:
                started = mp.spawn(work, (1,), nprocs=2, join=join)
                while not started.join():
                    pass
            except mp.ProcessRaisedException as error:
                print(error.error_index, str(error).strip().splitlines()[-1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="starts processes by fork")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools(run_program, tmp_path, method):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(POOLS))
    name = "__main__" if method == "fork" else "__mp_main__"
    argument = [method]
    expected = [(1, "2.13.0", name, argument), (2, "2.13.0", name, argument)]
    assert run_program(path, method) == f"{expected}\n"


def test_executors(run_program, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(EXECUTOR))
    assert run_program(path) == "3 torch.float32\n"


def test_a_module_as_program(run_python, tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(EXECUTOR))
    done = run_python("-m", "yesca", "-m", "program")
    assert done.stdout == "3 torch.float32\n", done.stderr


def test_spawn(run_program, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(SPAWN))
    assert run_program(path) == "1 ValueError: no 1\n" * 2


def test_commands_of_multiprocessing():
    from yesca._runner.workers import with_finder

    def run(text):
        return with_finder(["python", "-c", text, "--multiprocessing-fork"])[2]

    spawn = "from multiprocessing.spawn import spawn_main; spawn_main()"
    assert run(spawn).endswith("install(); " + spawn)
    assert run(run(spawn)) == run(spawn)  # not twice
    tracker = "from multiprocessing.resource_tracker import main;main(3)"
    assert run(tracker) == tracker
