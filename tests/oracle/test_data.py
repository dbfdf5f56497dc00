"""Datasets, samplers and loaders against PyTorch: what they give, draw, refuse and warn of."""

import random

import numpy as np
import pytest
import torch
from data_cases import Numbers, Short, Whole, Without, a, compare_modules, stream

import yesca
import yesca.utils.data

pytestmark = pytest.mark.oracle


def compare(case):
    compare_modules(case, yesca, torch)


SAMPLERS = {
    "sequential": lambda m: a(m).SequentialSampler(range(5)),
    "random": lambda m: a(m).RandomSampler(range(40)),
    "random more": lambda m: a(m).RandomSampler(range(5), num_samples=13),
    "random fewer": lambda m: a(m).RandomSampler(range(9), num_samples=4),
    "replaced": lambda m: a(m).RandomSampler(range(5), replacement=True, num_samples=70),
    "own": lambda m: a(m).RandomSampler(range(9), generator=m.Generator().manual_seed(5)),
    "own replaced": lambda m: a(m).RandomSampler(
        range(9), True, 3, m.Generator().manual_seed(5)),
    "random of none": lambda m: a(m).RandomSampler([]),
    "random zero": lambda m: a(m).RandomSampler([1], num_samples=0),
    "random float": lambda m: a(m).RandomSampler([1], num_samples=1.0),
    "random text": lambda m: a(m).RandomSampler([1], replacement="no"),
    "random true": lambda m: a(m).RandomSampler([1, 2], num_samples=True),
    "subset": lambda m: a(m).SubsetRandomSampler([5, 6, 7, 8]),
    "subset of text": lambda m: a(m).SubsetRandomSampler("hello"),
    "subset of none": lambda m: a(m).SubsetRandomSampler([]),
    "weighted": lambda m: a(m).WeightedRandomSampler([0.1, 0.5, 0.4], 10),
    "weighted once": lambda m: a(m).WeightedRandomSampler([3, 1, 2.0], 3, replacement=False),
    "weighted tensor": lambda m: a(m).WeightedRandomSampler(m.tensor([1, 0, 2]), 5),
    "weighted array": lambda m: a(m).WeightedRandomSampler(np.array([1.0, 2.0]), 5),
    "weighted too many": lambda m: a(m).WeightedRandomSampler([1.0], 3, replacement=False),
    "weighted negative": lambda m: a(m).WeightedRandomSampler([1.0, -1.0], 3),
    "weighted none": lambda m: a(m).WeightedRandomSampler([0.0, 0.0], 3),
    "weighted matrix": lambda m: a(m).WeightedRandomSampler([[1.0]], 3),
    "weighted 0": lambda m: a(m).WeightedRandomSampler([1.0], 0),
    "weighted text": lambda m: a(m).WeightedRandomSampler([1.0], 3, replacement=1),
    "batches": lambda m: a(m).BatchSampler(range(7), 3, False),
    "full batches": lambda m: a(m).BatchSampler(range(7), 3, True),
    "batches of random": lambda m: a(m).BatchSampler(a(m).RandomSampler(range(7)), 3, True),
    "batch 0": lambda m: a(m).BatchSampler(range(3), 0, False),
    "batch true": lambda m: a(m).BatchSampler(range(3), True, False),
    "batch last": lambda m: a(m).BatchSampler(range(3), 1, 0),
    "base": lambda m: a(m).Sampler(),
    "base of data": lambda m: a(m).Sampler([1]),
    **{f"distributed {options}": lambda m, o=options: a(m).DistributedSampler(range(11), **o)
       for options in (
           {"num_replicas": 3, "rank": 0}, {"num_replicas": 3, "rank": 2, "seed": 9},
           {"num_replicas": 3, "rank": 1, "shuffle": False}, {"num_replicas": 3, "rank": 3},
           {"num_replicas": 3, "rank": -1}, {"num_replicas": 4, "rank": 1, "drop_last": True},
           {"num_replicas": 30, "rank": 29}, {"num_replicas": 11, "rank": 1, "drop_last": True})},
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers(name):
    def twice(m):
        sampler = SAMPLERS[name](m)
        return [list(sampler), len(sampler), list(sampler)]

    compare(twice)
    compare(lambda m: len(SAMPLERS[name](m)))


def test_epochs_of_distributed_samplers():
    def epochs(m):
        sampler = a(m).DistributedSampler(range(11), 2, 1, seed=4)
        given = [list(sampler)]
        for epoch in (1, 5, 0):
            sampler.set_epoch(epoch)
            given.append(list(sampler))
        return given, sampler.num_samples, sampler.total_size

    compare(epochs)


def tensors(m):
    return a(m).TensorDataset(m.arange(10.0).reshape(5, 2), m.arange(5))


DATASETS = {
    "tensors": lambda m: [tensors(m)[2], tensors(m)[-1], len(tensors(m)), tensors(m)[1:3]],
    "tensors list": lambda m: tensors(m)[[0, 3]],
    "tensors far": lambda m: tensors(m)[5],
    "tensors uneven": lambda m: a(m).TensorDataset(m.ones(2), m.ones(3)),
    "no tensors": lambda m: a(m).TensorDataset(),
    "no tensors, length": lambda m: len(a(m).TensorDataset()),
    "stack": lambda m: a(m).StackDataset(range(3), "abc")[1],
    "stack of names": lambda m: a(m).StackDataset(x=range(3), y="abc")[2],
    "stack batch": lambda m: a(m).StackDataset(Whole(3), "abc").__getitems__([2, 0]),
    "stack batch of names": lambda m: a(m).StackDataset(x=Whole(3), y="abc").__getitems__([2, 0]),
    "stack short": lambda m: a(m).StackDataset(Short(3), "abc").__getitems__([2, 0]),
    "stack empty batch": lambda m: a(m).StackDataset("abc").__getitems__([]),
    "stack empty batch of names": lambda m: a(m).StackDataset(x="abc").__getitems__([]),
    "stack both": lambda m: a(m).StackDataset([1], x=[1]),
    "stack none": lambda m: a(m).StackDataset(),
    "stack uneven": lambda m: a(m).StackDataset([1], [1, 2]),
    "stack uneven names": lambda m: a(m).StackDataset(x=[1], y=[1, 2]),
    "concat": lambda m: [list(map((tensors(m) + tensors(m)).__getitem__, (0, 4, 5, -1, -10)))],
    "concat far": lambda m: (tensors(m) + tensors(m))[10],
    "concat below": lambda m: (tensors(m) + tensors(m))[-11],
    "concat none": lambda m: a(m).ConcatDataset([]),
    "concat stream": lambda m: a(m).ConcatDataset([stream(m)]),
    "concat sizes": lambda m: a(m).ConcatDataset(iter(["ab", "cde"])).cumulative_sizes,
    "concat old name": lambda m: a(m).ConcatDataset(["ab", "cde"]).cummulative_sizes,
    "concat with empty": lambda m: list(a(m).ConcatDataset(["", "ab", "", "c"])),
    "chain": lambda m: list(stream(m, 2) + stream(m, 3)),
    "chain length": lambda m: len(stream(m, 2, 2) + stream(m, 3, 3)),
    "chain without length": lambda m: len(stream(m, 2) + stream(m, 3)),
    "chain other": lambda m: list(a(m).ChainDataset([[1]])),
    "subset": lambda m: [a(m).Subset(range(9), [3, 1])[k] for k in (0, 1, -1)],
    "subset far": lambda m: a(m).Subset(range(9), [3, 1])[2],
    "subset list": lambda m: a(m).Subset(m.arange(9), [3, 1])[[1, 0]],
    "subset batch": lambda m: a(m).Subset(Whole(9), [3, 1]).__getitems__([1, 0]),
    "subset of subset": lambda m: list(a(m).Subset(a(m).Subset(range(9), [8, 3, 1]), [2, 0])),
    "dataset": lambda m: a(m).Dataset()[0],
    "dataset length": lambda m: len(a(m).Dataset()),
    "stream": lambda m: iter(a(m).IterableDataset()),
    "stream length": lambda m: len(stream(m)),
    "stream item": lambda m: stream(m)[0],
    "typed": lambda m: a(m).Dataset[int]()[0],
    **{f"split {lengths}": lambda m, s=lengths: [
        list(part) for part in a(m).random_split(range(10), s)]
       for lengths in ([3, 7], [0.5, 0.5], [0.35, 0.35, 0.3], [1.0], [10], [0, 10], [3, 3],
                       [0.3, 0.3], [-0.5, 1.5], [0.95, 0.05], [1], [0.1] * 10, [], [11, -1],
                       [0.7, 0.2, 0.1])},
    "split own": lambda m: [list(p) for p in a(m).random_split(
        range(10), [3, 7], generator=m.Generator().manual_seed(42))],
    "split none": lambda m: [list(p) for p in a(m).random_split(range(10), [3, 7], None)],
    "split one": lambda m: [list(p) for p in a(m).random_split(range(1), [0.5, 0.5])],
}


@pytest.mark.parametrize("name", DATASETS)
def test_datasets(name):
    compare(DATASETS[name])


def seeded(m, seed=8):
    return m.Generator().manual_seed(seed)


class Eager:
    """A sampler that draws when it is asked for its iterator."""

    def __init__(self, m):
        self.m = m

    def __iter__(self):
        return iter(self.m.randperm(6).tolist())

    def __len__(self):
        return 6


OPTIONS = {
    "plain": {}, "batch": {"batch_size": 3}, "drop": {"batch_size": 3, "drop_last": True},
    "shuffle": {"shuffle": True, "batch_size": 2}, "one by one": {"batch_size": None},
    "one by one shuffled": {"batch_size": None, "shuffle": True}, "sampler": {"sampler": [3, 1]},
    "sampler and batch": {"sampler": [3, 1, 0], "batch_size": 2},
    "batch sampler": {"batch_sampler": [[4], [0, 2]]}, "collate": {"collate_fn": list},
    "batch sampler of tuples": {"batch_sampler": [(4,), (0, 2)]},
    "collate singles": {"batch_size": None, "collate_fn": str},
    "large batch": {"batch_size": 99}, "large drop": {"batch_size": 99, "drop_last": True},
    "not shuffled": {"shuffle": False}, "pinned": {"pin_memory": True},
    "pinned somewhere": {"pin_memory": True, "pin_memory_device": "cuda"},
    "sampler of text": {"sampler": "ab"}, "out of range": {"sampler": [99]},
    "timeout": {"timeout": 3}, "batch 0": {"batch_size": 0}, "batch -1": {"batch_size": -1},
    "batch true": {"batch_size": True}, "batch 1.5": {"batch_size": 1.5},
    "drop 1": {"drop_last": 1}, "batch text": {"batch_size": "2"},
    "workers -1": {"num_workers": -1}, "timeout -1": {"timeout": -1},
    "prefetch": {"prefetch_factor": 2}, "prefetch -1": {"prefetch_factor": -1, "num_workers": 1},
    "persistent": {"persistent_workers": True}, "both": {"sampler": [0], "shuffle": True},
    "batch sampler and size": {"batch_sampler": [[0]], "batch_size": 2},
    "batch sampler and shuffle": {"batch_sampler": [[0]], "shuffle": True},
    "batch sampler and sampler": {"batch_sampler": [[0]], "sampler": [0]},
    "batch sampler and drop": {"batch_sampler": [[0]], "drop_last": True},
    "no batch, drop": {"batch_size": None, "drop_last": True},
    "context": {"multiprocessing_context": "fork"},
    "wrong context": {"multiprocessing_context": "thread", "num_workers": 1},
    "context of a kind": {"multiprocessing_context": 3, "num_workers": 1},
    "context none": {"multiprocessing_context": None}, "in_order": {"in_order": False},
    "unknown": {"workers": 2}, "workers text": {"num_workers": "2"},
    "prefetch 0": {"prefetch_factor": 0, "num_workers": 1},
    "workers": {"num_workers": 2}, "workers shuffle": {"num_workers": 2, "shuffle": True},
    "workers, one by one": {"num_workers": 2, "batch_size": None, "shuffle": True},
    "workers batch": {"num_workers": 2, "batch_size": 2, "drop_last": True},
    "workers prefetch": {"num_workers": 1, "prefetch_factor": 5, "batch_size": 2},
    "workers kept": {"num_workers": 2, "persistent_workers": True, "shuffle": True},
    "one worker out of order": {"num_workers": 1, "in_order": False},
}


def loaded(m, data, options):
    loader = a(m).DataLoader(data, **options)
    given = [list(loader)]
    given.append(list(loader))
    try:
        given.append(len(loader))
    except Exception as error:
        given.append(type(error).__name__)
    return given


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of PyTorch's own
@pytest.mark.parametrize("name", OPTIONS)
def test_loaders(name):
    compare(lambda m: loaded(m, Numbers(), OPTIONS[name]))
    if "workers" not in name:
        compare(lambda m: loaded(m, tensors(m), OPTIONS[name]))
        compare(lambda m: loaded(m, Whole(), OPTIONS[name]))
        compare(lambda m: loaded(m, Without(), OPTIONS[name]))
        compare(lambda m: loaded(m, a(m).Subset(tensors(m), [4, 3, 1, 0]), OPTIONS[name]))
    compare(lambda m: loaded(m, Numbers(), {**OPTIONS[name], "generator": seeded(m)}))
    compare(lambda m: loaded(m, stream(m), OPTIONS[name]))
    compare(lambda m: loaded(m, stream(m, 7, 3, True), OPTIONS[name]))


@pytest.mark.parametrize("options", [
    {}, {"num_workers": 2}, {"batch_size": None}, {"num_workers": 2, "batch_size": None},
    {"num_workers": 1, "batch_size": 2}])
def test_samplers_that_draw_at_once(options):
    compare(lambda m: loaded(m, Numbers(), {"sampler": Eager(m), **options}))
    if options.get("batch_size", 1) == 1:
        compare(lambda m: loaded(m, Numbers(), {
            "batch_sampler": [m.randperm(6).tolist() for _ in range(2)], **options}))


def of_worker(m):
    def sample(index):
        info = a(m).get_worker_info()
        drawn = random.random(), float(np.random.rand()), m.rand(1).item(), m.initial_seed()
        if info is None:
            return [index, *drawn[:3]]
        return [index, info.id, info.num_workers, info.seed, m.get_num_threads(), *drawn]

    return Numbers(5, sample)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("options", [
    {"num_workers": n, **more} for n in (0, 1, 2)
    for more in ({}, {"shuffle": True}, {"batch_size": None}, {"batch_size": 2})]
    + [{"num_workers": 2, "persistent_workers": True}], ids=str)
def test_what_workers_draw(options):
    compare(lambda m: loaded(m, of_worker(m), options))
    compare(lambda m: loaded(m, of_worker(m), {**options, "generator": seeded(m)}))


def test_worker_init_function():
    def case(m):
        def begin(worker):
            random.seed(worker)
            a(m).get_worker_info().dataset.n = 100 + worker

        data = Numbers(4)
        data.function = lambda i: (i, data.n, random.random())
        return list(a(m).DataLoader(data, num_workers=2, worker_init_fn=begin, batch_size=None))

    compare(case)


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


class Coded(Exception):
    message = "has one"

    def __init__(self, message):
        super().__init__(message)


def failing(error):
    def sample(index):
        if index == 2:
            raise error
        return index

    return sample


@pytest.mark.parametrize("error", [
    ValueError("bad"), KeyError("bad"), StopIteration(), IndexError("far"), Odd(1, 2),
    Coded("so"), RuntimeError("bad"), OSError(2, "gone"), AssertionError(),
    UnicodeDecodeError("utf8", b"a", 0, 1, "why"), NotImplementedError()], ids=repr)
def test_errors_of_samples(error):
    for workers in (0, 1):
        for batch_size in (2, None):
            options = {"num_workers": workers, "batch_size": batch_size}
            compare(lambda m, o=options: loaded(m, Numbers(5, failing(error)), o))

    def stream_of(m):
        class Stream(a(m).IterableDataset):
            def __iter__(self):
                return map(failing(error), range(5))

        return Stream()

    if not isinstance(error, StopIteration):
        compare(lambda m: loaded(m, stream_of(m), {"num_workers": 1}))
    compare(lambda m: loaded(m, stream_of(m), {}))


def test_attributes():
    def case(m):
        loader = a(m).DataLoader(range(4), batch_size=3, shuffle=True, num_workers=1, timeout=4)
        names = ("batch_size", "drop_last", "num_workers", "prefetch_factor", "pin_memory",
                 "pin_memory_device", "timeout", "worker_init_fn", "multiprocessing_context",
                 "in_order", "generator", "persistent_workers", "_auto_collation",
                 "_dataset_kind", "sampler", "batch_sampler", "_iterator")
        return [getattr(loader, name) for name in names] + [sorted(
            name for name in vars(loader) if name[0] != "_")]

    compare(case)
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset",
                 "persistent_workers"):
        compare(lambda m, n=name: setattr(a(m).DataLoader([1]), n, None))
    for name, value in (("num_workers", 0), ("timeout", 5), ("multiprocessing_context", "fork"),
                        ("multiprocessing_context", None), ("collate_fn", list)):
        compare(lambda m, n=name, v=value: setattr(a(m).DataLoader([1], num_workers=1), n, v))


def test_public_names():
    for path in ("", "dataset", "sampler", "distributed", "dataloader", "_utils.collate"):
        ours, theirs = (_module(m, path) for m in (yesca, torch))
        named = [name for name in getattr(theirs, "__all__", ()) if hasattr(theirs, name)]
        missing = [name for name in named if not hasattr(ours, name)]
        assert not set(missing) - DATA_PIPES, (path, missing)


#: PyTorch keeps these for old programs.
DATA_PIPES = set(
    "DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation functional_datapipe "
    "guaranteed_datapipes_determinism non_deterministic runtime_validation "
    "runtime_validation_disabled".split())


def _module(m, path):
    found = m.utils.data
    for part in filter(None, path.split(".")):
        found = getattr(found, part)
    return found
