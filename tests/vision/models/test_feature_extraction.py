"""What the inner layers of a model give, and the transforms that go with weights."""

import copy

import pytest

import yesca as torch
from yesca import hub
from yesca.vision import models
from yesca.vision.models.feature_extraction import create_feature_extractor
from yesca.vision.models.resnet import BasicBlock
from yesca.vision.transforms import InterpolationMode


@pytest.fixture
def model():
    torch.manual_seed(0)
    return models.ResNet(BasicBlock, [1, 1, 1, 1], num_classes=3).eval()


def test_modules_give_what_they_give(model):
    x = torch.linspace(-1, 1, 3 * 32 * 32).reshape(1, 3, 32, 32)
    net = create_feature_extractor(model, {"layer1.0.relu": "a", "layer1.0.relu_1": "b",
                                           "layer1": "c"})
    assert list(net.state_dict()) == list(model.state_dict()) and not net.training
    out = net(x)
    early = model.maxpool(model.relu(model.bn1(model.conv1(x))))
    assert torch.equal(out["c"], model.layer1(early)) and torch.equal(out["b"], out["c"])
    assert list(out) == ["a", "b", "c"] and out["a"].shape == out["b"].shape
    assert list(create_feature_extractor(model, ["layer2", "conv1"])(x)) == ["conv1", "layer2"]


def test_what_comes_later_does_not_run(model):
    model.layer4 = None
    out = create_feature_extractor(model, ["layer1"])(torch.ones(1, 3, 32, 32))
    assert out["layer1"].shape == (1, 64, 8, 8)
    assert not model.layer1._forward_hooks


def test_modes_and_copies(model):
    net = create_feature_extractor(model, train_return_nodes=["layer1"], eval_return_nodes=["fc"])
    x = torch.ones(2, 3, 32, 32)
    assert list(net(x)) == ["fc"]
    other = copy.deepcopy(net)
    assert list(net.train()(x)) == ["layer1"] and model.training and model.bn1.training
    assert not other.training and list(other(x)) == ["fc"]
    net.double()
    assert model.fc.weight.dtype == torch.float64 and other.fc.weight.dtype == torch.float32
    net(x.double())["layer1"].sum().backward()
    assert model.conv1.weight.grad is not None


def test_what_is_refused(model):
    for options in ({}, {"train_return_nodes": ["fc"]},
                    {"return_nodes": ["fc"], "train_return_nodes": ["fc"],
                     "eval_return_nodes": ["fc"]}):
        with pytest.raises(ValueError, match="return_nodes"):
            create_feature_extractor(model, **options)
    for node in ("flatten", "", "layer9", "fc_x"):
        with pytest.raises(ValueError, match=f"node: '{node}' is not present in model"):
            create_feature_extractor(model, [node])
    with pytest.raises(ValueError, match=r"did not call fc \(call 1\)"):
        create_feature_extractor(model, ["fc_1"])(torch.ones(1, 3, 32, 32))


def test_weights_download_by_their_address(monkeypatch):
    asked = []
    monkeypatch.setattr(hub, "load_state_dict_from_url", lambda *a, **k: asked.append((a, k)))
    models.AlexNet_Weights.DEFAULT.get_state_dict(progress=False)
    assert asked == [((models.AlexNet_Weights.DEFAULT.url,), {"progress": False})]


def test_transforms_of_weights():
    steps = models.EfficientNet_B1_Weights.IMAGENET1K_V2.transforms()
    assert repr(steps) == (
        "ImageClassification(\n    crop_size=[240]\n    resize_size=[255]\n"
        "    mean=[0.485, 0.456, 0.406]\n    std=[0.229, 0.224, 0.225]\n"
        f"    interpolation={InterpolationMode.BILINEAR}\n)")
    x = torch.full((3, 20, 30), 128, dtype=torch.uint8)
    out = models.ResNet18_Weights.DEFAULT.transforms(crop_size=8, resize_size=10)(x)
    assert out.shape == (3, 8, 8)
    grey = (128 / 255 - torch.tensor([0.485, 0.456, 0.406])) / torch.tensor([0.229, 0.224, 0.225])
    assert torch.allclose(out, grey.reshape(3, 1, 1).expand(3, 8, 8), atol=1e-6)
    assert "crop_size=[224]" in models.ResNet18_Weights.DEFAULT.transforms().describe()
    fcn = models.segmentation.FCN_ResNet50_Weights.DEFAULT.transforms(resize_size=12)
    assert fcn(x).shape == (3, 12, 18) and "resize_size=[12]" in repr(fcn)


def test_other_presets():
    from yesca.vision.transforms import _presets

    x = torch.full((3, 6, 8), 51, dtype=torch.uint8)
    whole = _presets.ObjectDetection()
    assert repr(whole) == "ObjectDetection()" and torch.allclose(whole(x), torch.tensor(0.2))
    first, second = _presets.OpticalFlow()(x, x)
    assert torch.allclose(first, torch.tensor(-0.6)) and second.shape == x.shape
    film = _presets.VideoClassification(crop_size=(4, 4), resize_size=(5, 6))
    frames = x.repeat(2, 7, 1, 1, 1)
    assert film(frames).shape == (2, 3, 7, 4, 4) and film(frames[0]).shape == (3, 7, 4, 4)
