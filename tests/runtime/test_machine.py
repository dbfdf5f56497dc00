"""The engine: load, keys, groups, externals, and the disk cache below it."""

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from yesca.runtime import cache, machine

i64 = ctypes.c_int64
META = {"keys": [], "needs": []}

pytestmark = [pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
              pytest.mark.every_cpu]


@pytest.fixture
def store(tmp_path):
    before = cache._current
    yield cache.use([tmp_path])
    cache._current = before


def adder(key, constant):
    return f"""
define i64 @{machine.symbol("add", key)}(i64 %a) {{
  %c = add i64 %a, {constant}
  ret i64 %c
}}
"""


def request(tag, constant):
    key = machine.hash_key(tag, constant, os.urandom(4))
    return machine.Kernel("add", key, lambda: adder(key, constant))


def run(module, value):
    return module.function(machine.symbol("add", module.key), i64, i64)(value)


def forget(*kernels):
    for kernel in kernels:
        machine._engine().modules.pop(kernel.key, None)


def test_a_miss_compiles_and_a_second_load_is_a_hit(store):
    kernel = request("one", 5)
    before = machine.counters.compiles
    module = machine.load("add", kernel.text, kernel.key)
    assert run(module, 2) == 7
    assert machine.load("add", kernel.text, kernel.key) is module
    assert machine.counters.compiles == before + 1
    assert cache.info().entries == 1


def test_text_is_not_asked_for_when_the_object_is_stored(store):
    kernel = request("stored", 5)
    machine.load("add", kernel.text, kernel.key)
    forget(kernel)
    module = machine.load("add", lambda: pytest.fail("asked for the text"), kernel.key)
    assert run(module, 1) == 6


def test_groups_share_one_object_and_overlap_safely(store):
    first, second, third = (request("group", constant) for constant in (1, 2, 3))
    before = machine.counters.compiles
    modules = machine.load_many([first, second])
    assert machine.counters.compiles == before + 1
    assert [run(module, 10) for module in modules] == [11, 12]
    forget(first)
    for name in (name for name, _, _ in store.files() if first.key in name):
        os.unlink(name)
    machine.load_many([first, third])  # compiled again, now in a second group
    forget(first, second, third)
    again = machine.load_many([third, second, first])
    assert machine.counters.compiles == before + 2
    assert [run(module, 10) for module in again] == [13, 12, 11]


def test_a_symbol_without_the_key_is_refused(store):
    key = machine.hash_key("unnamed")
    with pytest.raises(ValueError, match="must contain its key"):
        machine.load("f", "define void @f() {\n ret void\n}", key)
    kernel = request("symbols", 1)
    with pytest.raises(machine.MachineError, match="defines no symbol"):
        machine.load("add", kernel.text, kernel.key).address(machine.symbol("sub", kernel.key))
    with pytest.raises(ValueError, match="hex hash"):
        machine.load("f", "", "not a key")


def test_bad_text_and_unknown_externals_are_errors(store):
    key = machine.hash_key("bad")
    with pytest.raises(machine.MachineError, match="LLVM refuses 'bad'"):
        machine.load("bad", "define nonsense", key)
    text = f"""
declare void @no_such_function_anywhere()
define void @f_{key}() {{
  call void @no_such_function_anywhere()
  ret void
}}
"""
    with pytest.raises(machine.MachineError, match="no_such_function_anywhere"):
        machine.load("bad", text, key)


def test_externals_are_bound_by_name(store):
    callback = ctypes.CFUNCTYPE(i64, i64)(lambda value: value * 3)
    key = machine.hash_key("external", os.urandom(4))
    text = f"""
declare i64 @yesca_test_triple(i64)
define i64 @add_{key}(i64 %a) {{
  %c = call i64 @yesca_test_triple(i64 %a)
  ret i64 %c
}}
"""
    address = ctypes.cast(callback, ctypes.c_void_p).value
    module = machine.load("triple", text, key, {"yesca_test_triple": address})
    assert run(module, 14) == 42


def test_damage_is_noticed_and_repaired(store):
    for position in (5, 60, -1):
        kernel = request("damaged", position)
        machine.load("add", kernel.text, kernel.key)
        path = next(Path(name) for name, _, _ in store.files() if kernel.key in name)
        data = bytearray(path.read_bytes())
        data[position] ^= 1
        path.write_bytes(data)
        forget(kernel)
        damaged, compiles = store.damaged, machine.counters.compiles
        assert run(machine.load("add", kernel.text, kernel.key), 0) == position
        assert store.damaged == damaged + 1 and machine.counters.compiles == compiles + 1
        assert cache.decode(path.stem, path.read_bytes()) is not None
    path.write_bytes(path.read_bytes()[:100])
    assert store.get(path.stem) is None and not path.exists()


def test_an_entry_under_another_name_is_not_loaded():
    data = cache.encode("one", cache.Entry(META, b"code"))
    assert cache.decode("one", data).code == b"code"
    assert cache.decode("two", data) is None
    assert cache.decode("one", data[:-1]) is None
    assert cache.decode("one", b"") is None


def test_the_directory_is_bounded_by_age(tmp_path):
    store = cache.ObjectCache([tmp_path], limit=40_000)
    for index in range(8):
        store.put(f"entry{index}", cache.Entry(META, bytes(10_000)))
        path = tmp_path / f"entry{index}.yesca"
        if path.exists():
            os.utime(path, (index, index))
    names = sorted(Path(name).stem for name, _, _ in store.files())
    assert sum(size for _, size, _ in store.files()) <= 40_000
    assert names and "entry0" not in names
    store.put("huge", cache.Entry(META, bytes(50_000)))
    assert not (tmp_path / "huge.yesca").exists() and store.get("huge") is not None


def test_several_directories_and_unwritable_ones(tmp_path):
    shipped = cache.ObjectCache([tmp_path / "shipped"], 1 << 20)
    shipped.put("a", cache.Entry(META, b"a"))
    store = cache.ObjectCache([tmp_path / "shipped", tmp_path / "own"], 1 << 20)
    store.put("b", cache.Entry(META, b"b"))
    assert store.get("a").code == b"a" and store.get("b").code == b"b"
    assert [Path(name).parent.name for name, _, _ in store.files()] == ["own"]
    (tmp_path / "file").write_text("in the way of a directory")
    blocked = cache.ObjectCache([tmp_path / "file" / "cache"], 1 << 20)
    blocked.put("c", cache.Entry(META, b"c"))
    assert blocked.get("c").code == b"c" and blocked.files() == []


def test_pack_copies_what_was_used(store, tmp_path):
    kernels = [request("pack", constant) for constant in (1, 2)]
    machine.load_many(kernels)
    copied = cache.pack(tmp_path / "shipped")
    assert copied == 3  # one object, two names for it
    forget(*kernels)
    cache.use([tmp_path / "shipped", tmp_path / "empty"])
    before = machine.counters.compiles
    machine.load_many(kernels)
    assert machine.counters.compiles == before
    cache.clear()
    assert cache.info().entries == 0


def test_threads_share_one_compilation(store):
    kernel = request("threads", 4)
    before = machine.counters.compiles
    results = []

    def work():
        results.append(run(machine.load("add", kernel.text, kernel.key), 1))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [5] * 8 and machine.counters.compiles == before + 1


PROCESS = """
import ctypes, sys
from yesca.runtime import cache, machine
cache.use([sys.argv[1]])
for constant in range(20):
    key = machine.hash_key("processes", constant)
    name = machine.symbol("add", key)
    text = f"define i64 @{name}(i64 %a) {{\\n %c = add i64 %a, {constant}\\n ret i64 %c\\n}}"
    module = machine.load("add", text, key)
    assert module.function(name, ctypes.c_int64, ctypes.c_int64)(1) == constant + 1
print(machine.counters.compiles, cache.info().damaged)
"""


def test_two_processes_fill_one_cache(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROCESS, str(tmp_path)]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    outputs = [process.communicate()[0].split() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert [output[1] for output in outputs] == ["0", "0"]
    third = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert third.stdout.split() == ["0", "0"], third.stderr
    assert not list(tmp_path.glob("*.tmp"))


def test_fork_leaves_the_lock_free(store):
    kernel = request("fork", 9)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            with machine.LOCK:
                pass

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(5):
            pid = os.fork()
            if pid == 0:
                ok = run(machine.load("add", kernel.text, kernel.key), 1) == 10
                os._exit(0 if ok else 1)
            assert os.waitpid(pid, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
