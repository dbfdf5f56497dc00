"""What is recorded of models of images; it runs under PyTorch and under yesca alike."""

import hashlib
import inspect
from importlib import import_module


def home(models, name):
    """The module of a family."""
    return import_module(f"{models.__name__}.{name}")


def _sums(x):
    """Two numbers that change if a value does, or its place."""
    flat = x.detach().double().flatten()
    places = 1 + (flat.new_tensor(range(flat.numel())) % 7 if flat.numel() < 200 else 0)
    return [float(flat.sum()), float((flat.abs() * places).sum())]


def image(torch, size, count=2):
    """A smooth image with values of about one, by a formula."""
    n = torch.arange(count * 3 * size * size, dtype=torch.float64)
    return torch.sin(n * 0.37 + n // size * 0.11).float().reshape(count, 3, size, size)


def outline(torch, models, name):
    """Hash of the state's names, shapes and dtypes; parameters; modules."""
    builder = models.get_model_builder(name)
    known = inspect.signature(builder).parameters
    options = {key: value for key, value in (("weights_backbone", None), ("aux_loss", True))
               if key in known}
    with torch.device("meta"):
        model = builder(**options)
    text = ";".join(f"{key} {tuple(x.shape)} {x.dtype}" for key, x in model.state_dict().items())
    return [hashlib.sha256(text.encode()).hexdigest()[:16],
            sum(p.numel() for p in model.parameters()), len(list(model.modules()))]


def _vit(models, **options):
    return models.VisionTransformer(16, 4, 2, 2, 8, 12, num_classes=5, **options)


def _stem(models):
    config = home(models, "vision_transformer").ConvStemConfig
    return [config(4, 3, 2), config(8, 3, 2)]


def _swin(models, second=False):
    made = home(models, "swin_transformer")
    options = {"block": made.SwinTransformerBlockV2,
               "downsample_layer": made.PatchMergingV2} if second else {}
    return models.SwinTransformer([2, 2], 8, [2, 2], [2, 4], [4, 4], num_classes=5, **options)


def _convnext(models):
    config = home(models, "convnext").CNBlockConfig
    return models.ConvNeXt([config(8, 12, 1), config(12, None, 2)], 0.3, 0.5, num_classes=5)


def _efficient(models):
    made = home(models, "efficientnet")
    stages = [made.FusedMBConvConfig(1, 3, 1, 8, 8, 2), made.FusedMBConvConfig(4, 3, 2, 8, 12, 1),
              made.MBConvConfig(4, 3, 2, 12, 16, 2, width_mult=0.5, depth_mult=1.5)]
    stages[2].input_channels = 12
    return models.EfficientNet(stages, 0.2, num_classes=5, last_channel=24)


def _regnet(models):
    params = home(models, "regnet").BlockParams.from_init_params(
        depth=4, w_0=8, w_a=9.5, w_m=2.0, group_width=8, se_ratio=0.25)
    return models.RegNet(params, num_classes=5, stem_width=8)


def _dense(models, **options):
    return models.DenseNet(4, (2, 2), 8, num_classes=5, **options)


def _maxvit(models):
    return models.MaxVit((32, 32), 8, 4, [8, 16], [1, 2], 4, 0.2, num_classes=5)


def _segmentation(models, name, **options):
    return getattr(models.segmentation, name)(weights_backbone=None, num_classes=3, **options)


#: Name -> the model (made after the seed), the size of its images, the count of them.
RUNS = {
    "resnet": (lambda m: m.ResNet(home(m, "resnet").BasicBlock, [1, 2, 1, 1], num_classes=5,
                                  zero_init_residual=True), 32, 2),
    "bottleneck": (lambda m: m.ResNet(
        home(m, "resnet").Bottleneck, [1, 1, 1, 1],
        num_classes=5, groups=2, width_per_group=16,
        replace_stride_with_dilation=[False, True, True]), 32, 2),
    "squeezenet1_1": (lambda m: m.squeezenet1_1(num_classes=5), 48, 2),
    "densenet": (_dense, 32, 2),
    "densenet memory_efficient": (lambda m: _dense(m, memory_efficient=True, drop_rate=0.2), 32, 2),
    "mobilenet_v2": (lambda m: m.mobilenet_v2(num_classes=5, width_mult=0.25), 32, 2),
    "mobilenet_v3_small": (
        lambda m: m.mobilenet_v3_small(num_classes=5, width_mult=0.5, reduced_tail=True,
                                       dilated=True), 32, 2),
    "mnasnet": (lambda m: m.MNASNet(0.25, num_classes=5), 32, 2),
    "shufflenet_v2": (lambda m: m.ShuffleNetV2([1, 2, 1], [8, 12, 16, 24, 32], 5), 32, 2),
    "efficientnet": (_efficient, 32, 2),
    "regnet": (_regnet, 32, 2),
    "convnext": (_convnext, 32, 2),
    "vit": (_vit, 16, 2),
    "vit with a stem": (
        lambda m: _vit(m, conv_stem_configs=_stem(m), representation_size=6, dropout=0.1), 16, 2),
    "swin": (_swin, 15, 2),
    "swin v2": (lambda m: _swin(m, True), 18, 2),
    "maxvit": (_maxvit, 32, 2),
    "features of vgg": (lambda m: home(m, "vgg").make_layers([4, "M", 6, 6, "M"], True), 16, 2),
    "head of deeplabv3": (
        lambda m: home(m.segmentation, "deeplabv3").DeepLabHead(3, 5, (2, 3)), 8, 2),
    "lraspp": (lambda m: _segmentation(m, "lraspp_mobilenet_v3_large"), 32, 2),
}
#: Models that take a second or more.
SLOW = {
    "alexnet": (lambda m: m.alexnet(num_classes=5), 64, 2),
    "googlenet": (lambda m: m.googlenet(num_classes=5, init_weights=True,
                                        transform_input=True), 64, 2),
    "inception_v3": (
        lambda m: m.inception_v3(num_classes=5, init_weights=True, aux_logits=False), 80, 2),
    "fcn_resnet50": (lambda m: _segmentation(m, "fcn_resnet50", aux_loss=True), 32, 2),
}
RUNS |= SLOW


def _outputs(result):
    if isinstance(result, dict):
        return list(result.values())
    return [x for x in result if x is not None] if isinstance(result, tuple) else [result]


def run(torch, models, name):
    """Sums of a model's start, of what it gives in both modes, and of its gradients."""
    make, size, count = RUNS[name]
    torch.manual_seed(3)
    model = make(models)
    start = [sum(column) for column in zip(*(_sums(x) for x in model.state_dict().values()))]
    x = image(torch, size, count).double()
    model.double()  # norms over few values magnify the last digits of float32
    given = _outputs(model.train()(x))
    loss = sum((each * each).mean() + each.mean() for each in given)
    loss.backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    model.eval()
    with torch.no_grad():
        calm = _outputs(model(x))
    return {
        "start": start, "train": [_sums(each) for each in given],
        "grads": [len(grads), sum(_sums(each)[1] for each in grads)],
        "eval": [_sums(each) for each in calm],
    }
