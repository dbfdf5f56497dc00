"""Derivatives of random programs equal differences: backward, forward, and of derivatives."""

import gradient_programs
import hypothesis
import properties

import yesca
from yesca.autograd import gradcheck, gradgradcheck

#: Programs that PyTorch refuses in the same words.
REFUSED = ("one of the variables needed for gradient computation has been modified",
           "a view of a leaf Variable that requires grad is being used in an in-place operation",
           "some elements of the input tensor and the written-to tensor refer to a single memory",
           "is a view and is being modified inplace. This view is the output of a function that",
           "must match the size of tensor b")


def program_of(choose, steps):
    """A program that has derivatives."""
    try:
        made = gradient_programs.Program(yesca, choose, steps)
        hypothesis.assume(made.results)
        yesca.autograd.grad([r.sum() for r in made.results], made.leaves, allow_unused=True)
    except RuntimeError as error:
        if not any(words in str(error) for words in REFUSED):
            raise
        hypothesis.reject()
    return made


@properties.programs(80)
def test_first(choose):
    program = program_of(choose, 9)
    assert gradcheck(program, program.leaves)


@properties.programs(40)
def test_second(choose):
    program = program_of(choose, 6)
    assert gradgradcheck(program, program.leaves)


@properties.programs(40)
def test_forward(choose):
    program = program_of(choose, 7)
    hypothesis.assume(program.forward)
    assert gradcheck(program, program.leaves, check_forward_ad=True, check_backward_ad=False)
