"""Kinds of differential programs: the tape, seen and changed in every way there is."""

from differential import COLUMNS, kind
from differential_flow import Stop
from differential_kinds import program, slope
from differential_pieces import EXACT, SINGLE, SMOOTH, chain, fit, state, write

import yesca as torch
from yesca.nn import functional


@kind
def hooks(rng):
    """Hooks on tensors, with other work and other compiled functions in them."""
    steps, how = chain(rng, SMOOTH, 2, 5), rng.randrange(8)
    inner, inside = chain(rng, EXACT, 1, 4), rng.random() < 0.6
    compiled = torch.compile(lambda x: x.sin() * 2 + x)

    def on(world, gradient):
        if how == 0:
            return gradient * 2
        if how == 1:
            world.note(gradient.sum().item() > 0)
        elif how == 2:
            return compiled(gradient)
        elif how == 3:
            world.tensors["b"].add_(fit(gradient.detach(), world.tensors["b"]))
        elif how == 4:
            return gradient + fit(inner([gradient, world.tensors["a"]], world), gradient).float()
        elif how == 5:
            world.kept[:] = [gradient]
        elif how == 6 and world.call % 3 == 1:
            raise Stop("in a hook")
        elif how == 7 and not world.things["again"]:
            world.things["again"].append(True)
            try:
                world.things["function"]()(world, world.tensors["a"] * 2, gradient.detach())
            finally:
                world.things["again"].clear()
        return None

    def body(world, pool):
        middle = functional.linear(pool[1], world.tensors["weight"], world.tensors["bias"])
        middle.register_hook(lambda gradient: on(world, gradient))
        if world.call % 2:
            middle.retain_grad()
        pool.append(middle.sigmoid())
        value = steps(pool, world) + middle.mean()
        if inside:
            slope(world, value)
        return value, middle

    made = program(rng, body, after=None if inside else lambda world, outs: slope(world, outs[0]))
    usually = made.prepare

    def prepare(world):
        usually(world)
        world.things["again"] = []
        if how % 2:
            weight = world.tensors["weight"]
            weight.register_post_accumulate_grad_hook(
                lambda leaf: world.kept.append(world.tensors["b"].add_(leaf.grad.sum())))

    made.prepare = prepare
    return made


@kind
def saved_tensor_hooks(rng):
    steps, how = chain(rng, SMOOTH, 2, 5), rng.randrange(4)

    def pack(x):
        if how == 0:
            return x.detach().double()
        if how == 1:
            return x.tolist(), x.dtype
        return x * 1 if how == 2 else x

    def unpack(kept):
        if how == 0:
            return kept.float()
        if how == 1:
            return torch.tensor(kept[0], dtype=kept[1])
        return kept

    def body(world, pool):
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            pool.append(functional.linear(pool[1], world.tensors["weight"]).tanh())
            value = pool[-1] * pool[-1] + pool[-1].exp()
        pool.append(value)
        value = steps(pool, world) + value.mean()
        slope(world, value)
        return value

    return program(rng, body)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context, x, number):
        context.save_for_backward(x, x.sin())
        context.number = number
        return x * number

    @staticmethod
    def backward(context, gradient):
        x, sine = context.saved_tensors
        return gradient * context.number + sine * x, None


class Written(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(context, gradient):
        return gradient * 2


class Several(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        values, order = x.sort(-1)
        context.mark_non_differentiable(order)
        context.save_for_backward(order)
        return values, order

    @staticmethod
    def backward(context, gradient, _):
        (order,) = context.saved_tensors
        if gradient.sum() > 1e9:
            return None
        return torch.zeros_like(gradient).scatter(-1, order, gradient)


@kind
def functions(rng):
    steps, how = chain(rng, SMOOTH, 2, 5), rng.randrange(3)
    inside, more = rng.random() < 0.5, chain(rng, EXACT, 1, 3)

    def body(world, pool):
        x = functional.linear(pool[1], world.tensors["weight"], world.tensors["bias"])
        if how == 0:
            y = Doubled.apply(x, world.call % 3 + 0.5)
        elif how == 1:
            y = Written.apply(x * 1)
        else:
            y = Several.apply(x)[0]
        pool.append(y)
        value = steps(pool, world) + more(pool, world).mean() + y.mean()
        if inside:
            slope(world, value)
        return value, y

    return program(rng, body, after=None if inside else lambda world, outs: slope(world, outs[0]))


@kind
def grad_modes(rng):
    steps, more = chain(rng, SMOOTH, 2, 5), chain(rng, (*SMOOTH, write, state), 2, 5)
    modes = [rng.choice([torch.no_grad, torch.enable_grad, torch.inference_mode,
                         lambda: torch.set_grad_enabled(False)]) for _ in range(2)]

    def body(world, pool):
        pool.append(functional.linear(pool[1], world.tensors["weight"]))
        with modes[world.call % 2]():
            steps(pool, world)
            with torch.no_grad():
                world.tensors["weight"].mul_(0.99)
            if world.call % 3 == 1:
                with torch.enable_grad():
                    pool.append(world.tensors["bias"] * 2)
        try:
            value = more(pool, world) * world.tensors["bias"].sum()
            slope(world, value)
        except RuntimeError as error:
            world.note(str(error))
            value = pool[-1]
        return value, torch.is_grad_enabled()

    return program(rng, body)


@kind
def autocast(rng):
    steps, more = chain(rng, SMOOTH, 3, 6), chain(rng, SMOOTH, 1, 4)
    dtype = rng.choice([torch.bfloat16, torch.float16])

    def body(world, pool):
        with torch.autocast("cpu", dtype=dtype, enabled=world.call % 4 != 3):
            pool.append(functional.linear(pool[1], world.tensors["weight"], world.tensors["bias"]))
            value = steps(pool, world)
            with torch.autocast("cpu", enabled=False):
                pool.append(value.float() * 2)
        value = more(pool, world) + pool[3].float().mean()
        slope(world, value)
        return value, pool[3]

    return program(rng, body)


@kind
def double_backward(rng):
    steps, where = chain(rng, SMOOTH, 2, 6), rng.randrange(4)

    def first(world, value, graph=True):
        return torch.autograd.grad(value.float().tanh().sum(), world.tensors["weight"],
                                   create_graph=graph)[0]

    def body(world, pool):
        pool.append(functional.linear(pool[1], world.tensors["weight"], world.tensors["bias"]))
        value = steps(pool, world) + pool[3].sin().mean()
        if where == 0:
            return value
        gradient = first(world, value)
        if where == 1:
            return gradient
        (value.mean() + gradient.pow(2).sum()).backward()
        return value, gradient.detach()

    def after(world, outs):
        if where == 0:
            outs = first(world, outs)
        if where in (0, 1):
            outs.pow(2).sum().backward()

    return program(rng, body, after=after)


@kind
def transforms(rng):
    function, other, how = rng.choice(SINGLE[:12]), rng.choice(SINGLE[:12]), rng.randrange(6)
    before = chain(rng, EXACT, 1, 4)

    def scalar(x):
        return (function(x) * other(x)).sum()

    def body(world, pool):
        from yesca.utils.checkpoint import checkpoint

        before(pool, world)
        x, weight = pool[1] * 2, world.tensors["weight"]
        if how == 0:
            return torch.func.vmap(lambda row: function(row) + pool[2])(x)
        if how == 1:
            return torch.func.grad(scalar)(x)
        if how == 2:
            return torch.func.jvp(scalar, (x,), (x * 0 + 1,))
        if how == 3:
            return torch.func.vmap(torch.func.grad(scalar))(x)
        if how == 4:
            value = checkpoint(lambda w: other(x @ w), weight, use_reentrant=world.call % 2 == 0)
            slope(world, value)
            return value
        return torch.func.functional_call(torch.nn.Linear(COLUMNS, COLUMNS), {
            "weight": weight * 0.5, "bias": world.tensors["bias"]}, (x,))

    return program(rng, body)
