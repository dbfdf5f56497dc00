"""Data larger than memory: mapped files in workers of any start method, streams, Parquet."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import yesca as torch
from yesca.utils.data import DataLoader, IterableDataset, Subset, TensorDataset, get_worker_info

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")
linux = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads Linux's /proc")
ROWS, WIDTH = 4096, 2048  # of float32: 32 MB


def own_megabytes():
    """Memory of this process that no file stands behind, and so no other process shares."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status).group(1)) / 1024


class Sums:
    """The sum of a row, and what memory the process has of its own."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.tensor([self.rows[index].sum().item(), own_megabytes()])


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows"
    np.repeat(np.arange(ROWS, dtype=np.float32), WIDTH).tofile(path)
    return str(path)


def from_private_file(path):
    return torch.from_file(path, size=ROWS * WIDTH).view(ROWS, WIDTH)


def from_shared_file(path):
    return torch.from_file(path, shared=True, size=ROWS * WIDTH).view(ROWS, WIDTH)


def from_storage(path):
    storage = torch.UntypedStorage.from_file(path, False, ROWS * WIDTH * 4)
    return torch.empty(0).set_(storage, 0, (ROWS, WIDTH), (WIDTH, 1))


def from_numpy_map(path):
    return torch.from_numpy(np.memmap(path, np.float32, "c", shape=(ROWS, WIDTH)))


def from_checkpoint(path):
    torch.save({"rows": from_private_file(path)}, path + ".pt")
    return torch.load(path + ".pt", mmap=True)["rows"]


@linux
@pytest.mark.parametrize("opened", [
    from_private_file, from_shared_file, from_storage, from_numpy_map, from_checkpoint])
def test_forked_workers_share_the_pages_of_a_file(path, opened):
    loader = DataLoader(Sums(opened(path)), batch_size=1024, num_workers=2, shuffle=True,
                        multiprocessing_context="fork")
    batches = torch.cat(list(loader))
    assert sorted(batches[:, 0].tolist()) == [float(WIDTH * k) for k in range(ROWS)]
    # Both workers have read about half of the 32 MB.
    assert batches[:, 1].max().item() - batches[:, 1].min().item() < 8


@linux
@pytest.mark.parametrize("opened", [from_private_file, from_checkpoint, from_numpy_map])
def test_batches_of_rows_are_read_from_the_file(path, opened):
    rows = opened(path)
    before = own_megabytes()
    for subset in (TensorDataset(rows), Subset(TensorDataset(rows), range(ROWS))):
        total = sum(batch[:, -1].sum().item() for (batch,) in DataLoader(subset, batch_size=32))
        assert total == ROWS * (ROWS - 1) / 2
    assert own_megabytes() - before < 8


SPAWNED = """
import sys
import yesca as torch
from yesca.utils.data import DataLoader
sys.path.insert(0, {folder!r})
from test_large_data import ROWS, Sums, from_shared_file

if __name__ == "__main__":
    rows = from_shared_file({path!r})
    loader = DataLoader(Sums(rows), batch_size=1024, num_workers=1,
                        multiprocessing_context={method!r})
    batches = torch.cat(list(loader))
    assert batches[:, 0].tolist() == [2048.0 * k for k in range(ROWS)]
    print(int(batches[-1, 1] - batches[0, 1] < 8), int(batches[:, 1].max()))
"""


@linux
@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_workers_map_a_shared_file_again(path, tmp_path, run_python, method):
    program = tmp_path / "program.py"
    folder = str(Path(__file__).parent)
    program.write_text(SPAWNED.format(folder=folder, path=path, method=method))
    result = run_python(program)
    assert result.returncode == 0, result.stderr
    shared, megabytes = map(int, result.stdout.split())
    assert shared and megabytes < 200


class Groups(IterableDataset):
    """Rows of a Parquet file, row groups split among the workers."""

    def __init__(self, path, columns):
        self.path, self.columns = path, columns

    def __iter__(self):
        import pyarrow.parquet

        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        with pyarrow.parquet.ParquetFile(self.path) as file:
            for group in range(first, file.num_row_groups, step):
                table = file.read_row_group(group, self.columns, use_threads=False)
                yield from zip(*(torch.tensor(table[name].to_numpy()) for name in self.columns),
                               strict=True)


@pytest.mark.parametrize("workers", [0, 1, 2, 5])
def test_row_groups_of_parquet(tmp_path, workers):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    x = np.arange(100, dtype=np.float32)
    table = pyarrow.table({"x": x, "y": np.arange(100) % 7, "unread": ["text"] * 100})
    parquet.write_table(table, tmp_path / "table.parquet", row_group_size=32)
    loader = DataLoader(Groups(tmp_path / "table.parquet", ["x", "y"]), batch_size=8,
                        num_workers=workers)
    for _ in range(2):
        batches = list(loader)
        assert all(x.dtype is torch.float32 and y.dtype is torch.int64 for x, y in batches)
        xs, ys = (torch.cat(parts) for parts in zip(*batches, strict=True))
        order = xs.argsort()
        assert torch.equal(xs[order], torch.from_numpy(x))
        assert torch.equal(ys[order], torch.arange(100) % 7)
