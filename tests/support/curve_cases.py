"""Small models of every common kind, trained for thirty steps: for yesca and for the recorder.

`python tests/fixtures/record_curves.py`, with PyTorch installed, records the losses of each in
`curves.json` there. Weights and data come from one seed, so both libraries train the same model
on the same batches.
"""

from typing import Any, NamedTuple

SEED = 7
STEPS = 30
LONG = 50  # of the GPT under autocast


class Task(NamedTuple):
    """A model, what one step's batch costs it, and what moves it."""

    model: Any
    loss: Any  # (model, step) -> the loss of the batch of that step
    optimizer: Any
    scheduler: Any = None
    clip: float | None = None


def resnet(torch):
    """Two residual blocks with batch norm on 3x32x32 images, SGD with momentum."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inner, outer, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inner, outer, 3, stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(outer)
            self.conv2 = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(outer)
            self.shortcut = nn.Identity() if stride == 1 else nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

        def forward(self, x):
            out = torch.relu(self.bn1(self.conv1(x)))
            return torch.relu(self.bn2(self.conv2(out)) + self.shortcut(x))

    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
        Block(8, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5))
    labels = torch.randint(5, (4, 16))
    images = torch.randn(4, 16, 3, 32, 32) + 0.5 * labels[..., None, None, None]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def loss(model, step):
        return nn.functional.cross_entropy(model(images[step % 4]), labels[step % 4])

    return Task(model, loss, optimizer)


def tokens(torch, count, length, vocabulary=50):
    """Sequences in which most tokens follow from the one before."""
    rows = torch.empty(count, length, dtype=torch.int64)
    rows[:, 0] = torch.randint(vocabulary, (count,))
    strange = torch.rand(count, length) < 0.1
    random = torch.randint(vocabulary, (count, length))
    for place in range(1, length):
        follows = (3 * rows[:, place - 1] + 7) % vocabulary
        rows[:, place] = torch.where(strange[:, place], random[:, place], follows)
    return rows


def next_token_loss(torch, model, rows):
    logits = model(rows[:, :-1])
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


def lstm(torch):
    """A language model of two LSTM layers, SGD with momentum and clipped gradients."""
    nn = torch.nn

    class LanguageModel(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(50, 32)
            self.lstm = nn.LSTM(32, 48, num_layers=2, batch_first=True)
            self.head = nn.Linear(48, 50)

        def forward(self, ids):
            return self.head(self.lstm(self.embedding(ids))[0])

    model, rows = LanguageModel(), tokens(torch, 32, 13)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.8, momentum=0.9)

    def loss(model, step):
        return next_token_loss(torch, model, rows[step % 4 * 8:][:8])

    return Task(model, loss, optimizer, clip=1.0)


def gpt(torch):
    """Four layers of causal attention of width 64, AdamW under a warm-up and a cosine."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv = nn.Linear(width, 3 * width, bias=False)
            self.mix = nn.Linear(width, width, bias=False)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def attend(self, x):
            batch, length, width = x.shape
            q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                       for part in self.qkv(x).split(width, dim=-1))
            out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.mix(out.transpose(1, 2).reshape(batch, length, width))

        def forward(self, x):
            x = x + self.attend(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(50, 64), nn.Embedding(32, 64)
            self.blocks = nn.ModuleList([Block(64, 4) for _ in range(4)])
            self.norm = nn.LayerNorm(64)
            self.head = nn.Linear(64, 50, bias=False)
            self.head.weight = self.token.weight

        def forward(self, ids):
            x = self.token(ids) + self.place(torch.arange(ids.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    model, rows = GPT(), tokens(torch, 16, 25)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [
        torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=5),
        torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS - 5, eta_min=3e-5)], [5])

    def loss(model, step):
        return next_token_loss(torch, model, rows[step % 4 * 4:][:4])

    return Task(model, loss, optimizer, scheduler, clip=1.0)


def autoencoder(torch):
    """Strided convolutions down and transposed ones up, Adam in steps."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.LeakyReLU(0.1),
        nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.LeakyReLU(0.1),
        nn.ConvTranspose2d(16, 8, 3, stride=2, padding=1, output_padding=1), nn.ELU(),
        nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1), nn.Sigmoid())
    row = torch.arange(16.0)
    slopes = torch.rand(4, 8, 2, 1, 1)
    images = torch.sin(slopes[:, :, :1] * row + slopes[:, :, 1:] * row[:, None]) / 2 + 0.5
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10, gamma=0.5)

    def loss(model, step):
        return nn.functional.mse_loss(model(images[step % 4]), images[step % 4])

    return Task(model, loss, optimizer, scheduler)


def transformer(torch):
    """A `TransformerEncoder` with dropout over padded rows, read by a mean of what is real."""
    nn = torch.nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(50, 32, padding_idx=0)
            layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(32, 3)

        def forward(self, ids):
            padding = ids == 0
            x = self.encoder(self.embedding(ids), src_key_padding_mask=padding)
            real = (~padding)[..., None]
            return self.head((x * real).sum(1) / real.sum(1))

    model = Classifier()
    rows, lengths = torch.randint(1, 50, (4, 8, 14)), torch.randint(4, 15, (4, 8, 1))
    rows[torch.arange(14) >= lengths] = 0
    labels = rows[..., 0] % 3
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, step):
        return nn.functional.cross_entropy(model(rows[step % 4]), labels[step % 4])

    return Task(model, loss, optimizer)


def seq2seq(torch):
    """Packed sequences through a GRU of two directions, and a cell that attends to them."""
    nn, rnn = torch.nn, torch.nn.utils.rnn

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(30, 24)
            self.encoder = nn.GRU(24, 16, bidirectional=True)
            self.cell = nn.GRUCell(24 + 32, 32)
            self.query, self.score = nn.Linear(32, 32), nn.Linear(32, 1, bias=False)
            self.head = nn.Linear(32, 30)

        def forward(self, source, lengths, target):
            packed = rnn.pack_padded_sequence(
                self.embedding(source), lengths, enforce_sorted=False)
            memory, last = self.encoder(packed)
            memory, _ = rnn.pad_packed_sequence(memory)  # (T, B, 32)
            beyond = torch.arange(memory.shape[0])[:, None] >= lengths
            state, outs = torch.cat([last[0], last[1]], dim=-1), []
            for word in self.embedding(target).unbind():
                scores = self.score(torch.tanh(memory + self.query(state)))[..., 0]
                weights = scores.masked_fill(beyond, float("-inf")).softmax(dim=0)
                read = (weights[..., None] * memory).sum(0)
                state = self.cell(torch.cat([word, read], dim=-1), state)
                outs.append(self.head(state))
            return torch.stack(outs)

    model, rows = Translator(), tokens(torch, 24, 8, 30).view(4, 6, 8).transpose(1, 2)
    lengths = torch.randint(3, 9, (4, 6))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)

    def loss(model, step):
        source, target = rows[step % 4], rows[step % 4].flip(0)
        logits = model(source, lengths[step % 4], target[:-1])
        return nn.functional.cross_entropy(
            logits.flatten(0, 1), target[1:].flatten(), label_smoothing=0.1)

    return Task(model, loss, optimizer, clip=1.0)


def bag(torch):
    """A text classifier over bags of words, under one cycle of rates and momenta."""
    nn = torch.nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = nn.EmbeddingBag(200, 16, mode="mean")
            self.head = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))

        def forward(self, words, starts):
            return self.head(self.bag(words, starts))

    model = Classifier()
    labels = torch.randint(4, (4, 12))
    words = torch.randint(50, (4, 12, 9)) + 50 * labels[..., None]
    starts = torch.arange(0, 12 * 9, 9) + torch.randint(4, (4, 12))
    starts[:, 0] = 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.5, total_steps=STEPS)

    def loss(model, step):
        logits = model(words[step % 4].flatten(), starts[step % 4])
        return nn.functional.cross_entropy(logits, labels[step % 4])

    return Task(model, loss, optimizer, scheduler)


def recurrent(torch):
    """Two projected LSTM layers of both directions, with dropout, over packed sequences."""
    nn, rnn = torch.nn, torch.nn.utils.rnn

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(6, 8, 2, bidirectional=True, dropout=0.3, proj_size=4)
            self.head = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 2))

        def forward(self, x, lengths):
            packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
            out, lengths = rnn.pad_packed_sequence(self.lstm(packed)[0])
            return self.head(out.sum(0) / lengths[:, None])

    model, x = Reader(), torch.randn(4, 9, 8, 6)
    lengths, labels = torch.randint(1, 10, (4, 8)), (x[:, 0, :, 0] > 0).long()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 7)

    def loss(model, step):
        logits = model(x[step % 4], lengths[step % 4])
        return nn.functional.cross_entropy(logits, labels[step % 4])

    return Task(model, loss, optimizer, scheduler, clip=0.5)


def variational(torch):
    """A variational autoencoder: draws that gradients pass through, and a divergence."""
    nn, Normal = torch.nn, torch.distributions.Normal

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 8))
            self.decoder = nn.Sequential(
                nn.Linear(4, 32), nn.Softplus(), nn.Dropout(0.1), nn.Linear(32, 16))

        def forward(self, x):
            mean, width = self.encoder(x).chunk(2, dim=-1)
            hidden = Normal(mean, (width / 2).exp())
            divergence = torch.distributions.kl_divergence(hidden, Normal(0, 1))
            return self.decoder(hidden.rsample()), divergence.sum(-1)

    model, x = Model(), torch.rand(4, 12, 16) ** 4
    optimizer = torch.optim.RAdam(model.parameters(), lr=0.03)

    def loss(model, step):
        logits, divergence = model(x[step % 4])
        errors = nn.functional.binary_cross_entropy_with_logits(
            logits, x[step % 4], reduction="none")
        return (errors.sum(-1) + divergence).mean()

    return Task(model, loss, optimizer)


def penalty(torch):
    """A critic with normed weights whose gradient is part of its loss (a second backward)."""
    nn, norms = torch.nn, torch.nn.utils.parametrizations
    model = nn.Sequential(
        norms.spectral_norm(nn.Linear(8, 16)), nn.Tanh(),
        norms.weight_norm(nn.Linear(16, 16)), nn.CELU(), nn.AlphaDropout(0.1), nn.Linear(16, 1))
    x = torch.randn(4, 10, 8, requires_grad=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def loss(model, step):
        scores = model(x[step % 4])
        (slope,) = torch.autograd.grad(scores.sum(), x, create_graph=True)
        steepness = slope[step % 4].norm(dim=-1) - 1
        return nn.functional.softplus(scores).mean() + 10 * steepness.square().mean()

    return Task(model, loss, optimizer)


CASES = {each.__name__: each
         for each in (resnet, lstm, gpt, autoencoder, transformer, seq2seq, bag, recurrent,
                      variational, penalty)}


def curve(torch, name, wrap=lambda model: model, autocast=False, steps=STEPS):
    """The losses of the steps, with the model as `wrap` gives it back."""
    torch.manual_seed(SEED)
    task = CASES[name](torch)
    model, losses = wrap(task.model), []
    for step in range(steps):
        task.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            loss = task.loss(model, step)
        loss.backward()
        if task.clip is not None:
            torch.nn.utils.clip_grad_norm_(task.model.parameters(), task.clip)
        task.optimizer.step()
        if task.scheduler is not None:
            task.scheduler.step()
        losses.append(loss.item())
    return losses


def distance(losses, expected):
    """The largest relative difference of two curves."""
    return max(abs(a - b) / abs(b) for a, b in zip(losses, expected, strict=True))
