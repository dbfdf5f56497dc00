"""Models and weights by name, the arguments of former versions, and what is refused."""

import copy
import pickle
from types import SimpleNamespace

import pytest

import yesca as torch
from yesca import nn
from yesca.base import absent
from yesca.vision import models
from yesca.vision.models import _api, _utils


def tiny(**kwargs):
    return models.mobilenet_v2(width_mult=0.1, **kwargs)


def test_names_by_patterns():
    assert models.list_models(include="resnet*") == [
        "resnet101", "resnet152", "resnet18", "resnet34", "resnet50"]
    both = models.list_models(include=["vit_*", "swin_*"], exclude=("*_b*", "*v2*"))
    assert both == ["swin_s", "swin_t", "vit_h_14", "vit_l_16", "vit_l_32"]
    assert models.list_models(models.segmentation, exclude="*50") == [
        "deeplabv3_mobilenet_v3_large", "deeplabv3_resnet101", "fcn_resnet101",
        "lraspp_mobilenet_v3_large"]


def test_models_by_name():
    assert models.get_model_builder("ResNet50") is models.resnet50
    assert models.get_model("squeezenet1_0", num_classes=3).num_classes == 3
    with pytest.raises(ValueError, match="Unknown model resnet51"):
        models.get_model("resnet51")


def test_functions_and_classes_outlive_the_modules_of_their_names():
    import yesca.vision.models.alexnet
    import yesca.vision.models.googlenet  # noqa: F401

    assert callable(models.alexnet) and callable(models.googlenet)
    assert models.mobilenet.mobilenet_v2 is models.mobilenet_v2
    assert set(models.__all__) <= set(dir(models))


def test_weights_by_name():
    enum = models.ResNet50_Weights
    assert models.get_weight("ResNet50_Weights.IMAGENET1K_V1") is enum.IMAGENET1K_V1
    assert models.get_model_weights("resnet50") is enum
    assert models.get_model_weights(models.segmentation.fcn_resnet50).__name__ == (
        "FCN_ResNet50_Weights")
    assert enum.DEFAULT is enum.IMAGENET1K_V2 and list(enum) == [
        enum.IMAGENET1K_V1, enum.IMAGENET1K_V2]
    assert repr(enum.DEFAULT) == "ResNet50_Weights.IMAGENET1K_V2"
    assert pickle.loads(pickle.dumps(enum.DEFAULT)) is enum.DEFAULT
    with pytest.raises(ValueError, match="Invalid weight name provided: 'ResNet50_Weights'"):
        models.get_weight("ResNet50_Weights")
    with pytest.raises(ValueError, match="'ResNet51_Weights' for the specific method couldn't"):
        models.get_weight("ResNet51_Weights.DEFAULT")
    with pytest.raises(KeyError):
        models.get_weight("ResNet50_Weights.IMAGENET1K_V7")


def test_what_weights_say():
    weights = models.ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1
    assert weights.url == "https://download.pytorch.org/models/vit_b_16_swag-9ac1b537.pth"
    assert weights.meta["min_size"] == (384, 384) and weights.meta["num_params"] == 86859496
    assert len(weights.meta["categories"]) == 1000 and weights.meta["categories"][0] == "tench"
    assert models.VGG16_Weights.IMAGENET1K_FEATURES.meta["categories"] is None
    voc = models.segmentation.FCN_ResNet50_Weights.DEFAULT.meta["categories"]
    assert len(voc) == 21 and voc[0] == "__background__"


def test_weights_are_compared_by_what_they_say():
    one = models.AlexNet_Weights.DEFAULT.value
    assert one == copy.deepcopy(one) and one != models.VGG11_Weights.DEFAULT.value
    assert one != models.Weights(one.url, one.transforms, {}) and one != 3


def test_verify():
    enum = models.ResNet18_Weights
    assert enum.verify(None) is None and enum.verify(enum.DEFAULT) is enum.DEFAULT
    assert enum.verify("DEFAULT") is enum.verify("ResNet18_Weights.IMAGENET1K_V1") is enum.DEFAULT
    with pytest.raises(TypeError, match="expected ResNet18_Weights but received ResNet50_Weights"):
        models.resnet18(weights=models.ResNet50_Weights.DEFAULT)
    with pytest.raises(KeyError):
        models.resnet18(weights="IMAGENET1K_V9")


@pytest.fixture
def published(monkeypatch):
    """Downloads that give the state of a model made here, and are noted."""
    noted = []

    def state_of(make):
        def download(weights, *args, **kwargs):
            noted.append((weights, kwargs))
            torch.manual_seed(1)
            return make().state_dict()
        monkeypatch.setattr(models.WeightsEnum, "get_state_dict", download)
        return noted

    return state_of


def test_pretrained_weights_are_loaded(published):
    noted = published(models.squeezenet1_1)
    model = models.squeezenet1_1(weights="DEFAULT", progress=False)
    torch.manual_seed(1)
    for got, expected in zip(model.parameters(), models.squeezenet1_1().parameters()):
        assert torch.equal(got, expected)
    assert noted == [(models.SqueezeNet1_1_Weights.DEFAULT,
                      {"progress": False, "check_hash": True})]
    with pytest.raises(ValueError, match="'num_classes' expected value 1000 but got 10 instead"):
        models.squeezenet1_1(weights="DEFAULT", num_classes=10)


def test_old_names_of_densenet_are_translated(published):
    def former():
        state = models.densenet121().state_dict()
        renamed = {}
        for name, x in state.items():
            for part in ("norm", "relu", "conv"):
                for place in "12":
                    if "denselayer" in name:
                        name = name.replace(f".{part}{place}.", f".{part}.{place}.")
            renamed[name] = x
        assert any(".norm.1." in name for name in renamed)
        return SimpleNamespace(state_dict=lambda: renamed)

    published(former)
    assert isinstance(models.densenet121(weights="DEFAULT"), models.DenseNet)


def test_heads_that_only_training_needs(published):
    published(lambda: models.googlenet(init_weights=False))
    model = models.googlenet(weights="DEFAULT")
    assert model.aux1 is None and not model.aux_logits and model.transform_input
    with pytest.warns(UserWarning, match="are NOT pretrained"):
        assert models.googlenet(weights="DEFAULT", aux_logits=True).aux1 is not None
    published(lambda: models.inception_v3(init_weights=False))
    assert models.inception_v3(weights="DEFAULT", transform_input=False).AuxLogits is not None
    with pytest.raises(ValueError, match="'aux_logits' expected value True but got False"):
        models.inception_v3(weights="DEFAULT", aux_logits=False)


def test_segmentation_takes_weights_of_its_body(published):
    noted = published(lambda: models.mobilenet_v3_large())
    lraspp = models.segmentation.lraspp_mobilenet_v3_large
    assert isinstance(lraspp(), models.segmentation.LRASPP)
    assert noted[0][0] is models.MobileNet_V3_Large_Weights.IMAGENET1K_V1
    with pytest.raises(NotImplementedError, match="does not use auxiliary loss"):
        lraspp(weights_backbone=None, aux_loss=True)
    published(lambda: lraspp(weights_backbone=None))
    assert lraspp(weights="DEFAULT").classifier.low_classifier.out_channels == 21
    with pytest.raises(ValueError, match="'num_classes' expected value 21 but got 5 instead"):
        lraspp(weights="DEFAULT", num_classes=5)


def test_pretrained_is_an_old_argument(published):
    published(lambda: models.mobilenet_v2())
    with pytest.warns(UserWarning) as said:
        models.mobilenet_v2(pretrained=True)
    first, second = (str(each.message) for each in said)
    assert first == (
        "The parameter 'pretrained' is deprecated since 0.13 and may be removed in the future, "
        "please use 'weights' instead.")
    assert second == (
        "Arguments other than a weight enum or `None` for 'weights' are deprecated since 0.13 and "
        "may be removed in the future. The current behavior is equivalent to passing "
        "`weights=MobileNet_V2_Weights.IMAGENET1K_V1`. You can also use "
        "`weights=MobileNet_V2_Weights.DEFAULT` to get the most up-to-date weights.")
    for call, words in (
        (lambda: tiny(pretrained=False), "equivalent to passing `weights=None`"),
        (lambda: models.mobilenet_v2(None, False), "Using 'weights' and 'progress' as positional"),
        (lambda: models.mobilenet_v2(True), "Using 'weights' as positional parameter"),
    ):
        with pytest.warns(UserWarning) as said:
            call()
        assert any(words in str(each.message) for each in said)
    with pytest.raises(ValueError, match="No weights available for model vit_h_14"):
        models.vit_h_14(pretrained=True)


def test_registered_models_are_a_programs_own(monkeypatch):
    monkeypatch.setattr(_api, "BUILTIN_MODELS", dict(_api.BUILTIN_MODELS))

    @_api.register_model("small")
    def make(*, weights=None):
        return nn.Linear(1, 1)

    assert models.get_model_builder("SMALL") is make
    assert isinstance(models.get_model("small"), nn.Linear)
    with pytest.raises(ValueError, match="already registered under the name 'small'"):
        _api.register_model("small")(make)
    with pytest.raises(ValueError, match="WeightsEnum class for the specific method couldn't"):
        models.get_model_weights(make)
    with pytest.raises(ValueError, match="is missing the 'weights' argument"):
        models.get_model_weights(lambda: None)


def test_widths_are_rounded():
    assert [_utils._make_divisible(v, 8) for v in (1, 11, 12, 19, 35, 89)] == [
        8, 16, 16, 24, 32, 88]
    assert _utils._make_divisible(3, 4, 12) == 12


def test_layers_in_the_middle():
    model = models.ResNet(_block(), [1, 1, 1, 1], num_classes=2).eval()
    body = _utils.IntermediateLayerGetter(model, {"layer1": "a", "layer2": "b"})
    assert list(body) == ["conv1", "bn1", "relu", "maxpool", "layer1", "layer2"]
    x = torch.ones(1, 3, 32, 32)
    out = body(x)
    early = model.layer1(model.maxpool(model.relu(model.bn1(model.conv1(x)))))
    assert list(out) == ["a", "b"] and torch.equal(out["a"], early)
    assert torch.equal(out["b"], model.layer2(early))
    with pytest.raises(ValueError, match="return_layers are not present in model"):
        _utils.IntermediateLayerGetter(model, {"layer9": "a"})


def _block():
    from yesca.vision.models.resnet import BasicBlock

    return BasicBlock


@pytest.mark.parametrize(("make", "error", "words"), [
    (lambda: models.ResNet(_block(), [1] * 4, replace_stride_with_dilation=[True]), ValueError,
     "None or a 3-element tuple"),
    (lambda: models.ResNet(_block(), [1] * 4, groups=2), ValueError, "only supports groups=1"),
    (lambda: models.ResNet(_block(), [1, 2, 1, 1], replace_stride_with_dilation=[True] * 3),
     NotImplementedError, "Dilation > 1"),
    (lambda: models.SqueezeNet("2"), ValueError, "1_0 or 1_1 expected"),
    (lambda: models.MNASNet(0.0), ValueError, "alpha should be greater than 0.0"),
    (lambda: models.ShuffleNetV2([1], [1] * 5), ValueError, "list of 3 positive"),
    (lambda: models.ShuffleNetV2([1] * 3, [1]), ValueError, "list of 5 positive"),
    (lambda: models.MobileNetV2(inverted_residual_setting=[[1, 2]]), ValueError, "4-element list"),
    (lambda: models.MobileNetV3([], 8), ValueError, "should not be empty"),
    (lambda: models.MobileNetV3([1], 8), TypeError, r"List\[InvertedResidualConfig\]"),
    (lambda: models.EfficientNet([], 0.1), ValueError, "should not be empty"),
    (lambda: models.EfficientNet([1], 0.1), TypeError, r"List\[MBConvConfig\]"),
    (lambda: models.ConvNeXt([]), ValueError, "should not be empty"),
    (lambda: models.ConvNeXt([1]), TypeError, r"List\[CNBlockConfig\]"),
    (lambda: models.VisionTransformer(10, 4, 1, 1, 4, 4), AssertionError, "indivisible by patch"),
    (lambda: models.MaxVit((24, 24), 8, 4, [8], [1], 4, 0.0), ValueError, "is not divisible by"),
])
def test_what_models_refuse(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_places_of_a_transformer_fit_other_sizes():
    from yesca.vision.models.vision_transformer import interpolate_embeddings

    small = models.VisionTransformer(8, 4, 1, 1, 4, 4)
    state = small.state_dict()
    large = models.VisionTransformer(16, 4, 1, 1, 4, 4)
    fitted = interpolate_embeddings(16, 4, small.state_dict(), reset_heads=True)
    assert fitted["encoder.pos_embedding"].shape == (1, 17, 4)
    assert not any(name.startswith("heads") for name in fitted)
    assert large.load_state_dict(fitted, strict=False).missing_keys == [
        "heads.head.weight", "heads.head.bias"]
    corners = fitted["encoder.pos_embedding"][:, [1, 4, 13, 16]]
    assert torch.allclose(corners, state["encoder.pos_embedding"][:, 1:], atol=1e-6)
    with pytest.raises(ValueError, match="not a perfect square"):
        interpolate_embeddings(16, 4, {"encoder.pos_embedding": torch.ones(1, 4, 4)})


def test_states_of_first_versions_load():
    model = models.VisionTransformer(8, 4, 1, 1, 4, 6)
    state = {name.replace("mlp.0.", "mlp.linear_1.").replace("mlp.3.", "mlp.linear_2."): x
             for name, x in model.state_dict().items()}
    assert "encoder.layers.encoder_layer_0.mlp.linear_2.bias" in state
    model.load_state_dict(state)
    former = models.MNASNet(1.3)
    state = former.state_dict()
    state._metadata[""]["version"] = 1
    with pytest.warns(UserWarning, match="saved using the previous version"), \
            pytest.raises(RuntimeError, match="size mismatch"):
        former.load_state_dict(state)
    assert former.layers[0].out_channels == 32


def test_models_that_are_not_there_yet_say_so():
    with pytest.raises(AttributeError, match="'detection' .torchvision has it; yesca does not"):
        models.detection
    with pytest.raises(ImportError, match="'video' .*has it; yesca does not have it yet: .*list_m"):
        from yesca.vision.models import video  # noqa: F401
    with pytest.raises(ImportError, match="get_graph_node_names.*named_modules"):
        from yesca.vision.models.feature_extraction import get_graph_node_names  # noqa: F401
    with pytest.raises(AttributeError) as raised:
        models.resnet19
    assert "yet" not in str(raised.value)


@pytest.mark.parametrize("name", ["detection", "optical_flow", "quantization", "video"])
def test_importing_models_that_are_not_there_yet_says_so(name):
    text = absent.import_text(f"torchvision.models.{name}")
    assert text.startswith(f"No module named 'torchvision.models.{name}' (torchvision has it; ")
    assert absent.import_text("torchvision.nope") == "No module named 'torchvision.nope'"
