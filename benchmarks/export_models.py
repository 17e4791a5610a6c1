"""benchmarks/export_models.py FOLDER - exports networks that no kernel was tuned on, with random weights.

Runs in an environment with torch, torchvision, timm and transformers, which `make bench-exports` makes; nothing is
downloaded but packages. Writes FOLDER/NAME.onnx and FOLDER/runs.json: which shapes of inputs each is measured with.
"""
import json
import pathlib
import sys
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
IMAGE = {"x": {0: "batch", 2: "height", 3: "width"}}
SIZES = ((1, 224, 224), (3, 224, 224), (8, 224, 224), (1, 193, 257))


def timm_model(name, fuse=False, **options):
    import timm
    from timm.utils.model import reparameterize_model
    model = timm.create_model(name, pretrained=False, **options).eval()
    return reparameterize_model(model) if fuse else model


class OddUnet(nn.Module):
    """A U-Net whose widths are no multiple of any vector: 3, 13, 29, 61."""

    def __init__(self):
        super().__init__()
        widths = (13, 29, 61)
        self.down = nn.ModuleList()
        before = 3
        for width in widths:
            self.down.append(self.block(before, width))
            before = width
        self.up = nn.ModuleList(self.block(a + b, b) for a, b in ((61, 29), (29, 13)))
        self.last = nn.Conv2d(13, 2, 1)

    @staticmethod
    def block(before, width):
        return nn.Sequential(nn.Conv2d(before, width, 3, padding=1), nn.BatchNorm2d(width), nn.LeakyReLU(0.1),
                             nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.LeakyReLU(0.1))

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else nn.functional.max_pool2d(x, 2))
            kept.append(x)
        for block, skip in zip(self.up, (kept[1], kept[0])):
            x = nn.functional.interpolate(x, size=skip.shape[2:], mode="bilinear", align_corners=False)
            x = block(torch.cat([x, skip], 1))
        return self.last(x)


class SuperResolution(nn.Module):
    """Residual blocks without normalization, then PixelShuffle."""

    def __init__(self, width=48, blocks=6, scale=3):
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.PReLU(width), nn.Conv2d(width, width, 3, padding=1))
            for _ in range(blocks))
        self.last = nn.Sequential(nn.Conv2d(width, 3 * scale * scale, 3, padding=1), nn.PixelShuffle(scale))

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


class Wavenet(nn.Module):
    """Dilated causal convolutions with gates, as in vocoders and in denoisers of waveforms."""

    def __init__(self, width=40, layers=10):
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        self.dilated = nn.ModuleList(nn.Conv1d(width, 2 * width, 3, dilation=2 ** (i % 5)) for i in range(layers))
        self.mix = nn.ModuleList(nn.Conv1d(width, 2 * width, 1) for _ in range(layers))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(width, width, 1), nn.ReLU(), nn.Conv1d(width, 1, 1))

    def forward(self, x):
        x, sum_of_skips = self.first(x), 0
        for dilated, mix in zip(self.dilated, self.mix):
            a, b = dilated(nn.functional.pad(x, (2 * dilated.dilation[0], 0))).chunk(2, 1)
            kept, skip = mix(torch.tanh(a) * torch.sigmoid(b)).chunk(2, 1)
            x, sum_of_skips = x + kept, sum_of_skips + skip
        return self.last(sum_of_skips)


class ConvRecurrent(nn.Module):
    """Convolutions over a spectrogram, then a bidirectional GRU: a small recognizer of sounds."""

    def __init__(self):
        super().__init__()
        self.convolutions = nn.Sequential(nn.Conv2d(1, 20, 3, stride=(1, 2), padding=1), nn.ReLU(),
                                          nn.Conv2d(20, 36, 3, stride=(1, 2), padding=1), nn.ReLU())
        self.gru = nn.GRU(36 * 20, 100, num_layers=2, bidirectional=True, batch_first=True)
        self.last = nn.Linear(200, 41)

    def forward(self, x):
        x = self.convolutions(x).permute(0, 2, 1, 3).flatten(2)
        return self.last(self.gru(x)[0]).log_softmax(-1)


class Classified(nn.Module):
    """A model of transformers whose output is one tensor."""

    def __init__(self, model):
        super().__init__()
        self.model = model.eval()

    def forward(self, x):
        return self.model(x, return_dict=False)[0]


class PointNet(nn.Module):
    """Shared layers over points and a maximum of all."""

    def __init__(self):
        super().__init__()
        self.points = nn.Sequential(nn.Conv1d(3, 70, 1), nn.ReLU(), nn.Conv1d(70, 150, 1), nn.ReLU(),
                                    nn.Conv1d(150, 500, 1))
        self.last = nn.Sequential(nn.Linear(500, 90), nn.ReLU(), nn.Linear(90, 11))

    def forward(self, x):
        return self.last(self.points(x).amax(2))


def electra():
    from transformers import ElectraConfig, ElectraForSequenceClassification
    return Classified(ElectraForSequenceClassification(ElectraConfig(
        hidden_size=300, intermediate_size=900, num_attention_heads=6, num_hidden_layers=6, embedding_size=100,
        attn_implementation="eager")))


def segformer():
    from transformers import SegformerConfig, SegformerForSemanticSegmentation
    return Classified(SegformerForSemanticSegmentation(SegformerConfig()))


def flow():
    from torchvision.models.optical_flow import raft_small
    model = raft_small(weights=None).eval()

    class Flow(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x, y):
            return self.model(x, y, num_flow_updates=4)[-1]
    return Flow()


def detector():
    from torchvision.models.detection import fcos_resnet50_fpn

    class Heads(nn.Module):
        """The network of a detector, without its choice of boxes."""

        def __init__(self):
            super().__init__()
            self.model = fcos_resnet50_fpn(weights=None, weights_backbone=None).eval()

        def forward(self, x):
            found = self.model.head(list(self.model.backbone(x).values()))
            return found["cls_logits"], found["bbox_regression"], found["bbox_ctrness"]
    return Heads()


def images(sizes=SIZES, channels=3):
    return [{"x": [n, channels, h, w]} for n, h, w in sizes]


# name: the model, the axes that vary, and the shapes of its inputs in each run (the first is exported).
MODELS = {
    "repvgg_a0": (lambda: timm_model("repvgg_a0", fuse=True), IMAGE, images()),
    "mobileone_s1": (lambda: timm_model("mobileone_s1", fuse=True), IMAGE, images()),
    "repvit_m1": (lambda: timm_model("repvit_m1", fuse=True), IMAGE, images()),
    "ghostnetv2_100": (lambda: timm_model("ghostnetv2_100"), IMAGE, images(SIZES[:3])),
    "mixnet_s": (lambda: timm_model("mixnet_s"), IMAGE, images()),
    "mobilenetv4_conv_small": (lambda: timm_model("mobilenetv4_conv_small"), IMAGE, images()),
    "hgnetv2_b0": (lambda: timm_model("hgnetv2_b0"), IMAGE, images()),
    "edgenext_x_small": (lambda: timm_model("edgenext_x_small"), {"x": {0: "batch"}}, images(SIZES[:3])),
    "poolformer_s12": (lambda: timm_model("poolformer_s12"), IMAGE, images()),
    "resnest14d": (lambda: timm_model("resnest14d"), IMAGE, images(SIZES[:3])),
    "efficientvit_b0": (lambda: timm_model("efficientvit_b0"), IMAGE, images(SIZES[:3])),
    "dpn48b": (lambda: timm_model("dpn48b"), IMAGE, images(SIZES[:2] + SIZES[3:])),
    "levit_128s": (lambda: timm_model("levit_128s"), {"x": {0: "batch"}}, images(SIZES[:3])),
    "xcit_nano_12_p16_224": (lambda: timm_model("xcit_nano_12_p16_224"), {"x": {0: "batch"}}, images(SIZES[:3])),
    "odd_unet": (OddUnet, IMAGE, images(((1, 160, 160), (3, 160, 160), (1, 121, 173)))),
    "super_resolution": (SuperResolution, IMAGE, images(((1, 96, 96), (3, 96, 96), (1, 75, 101)))),
    "wavenet": (Wavenet, {"x": {0: "batch", 2: "length"}}, [{"x": [1, 1, 4000]}, {"x": [3, 1, 4000]},
                                                             {"x": [1, 1, 777]}]),
    "conv_recurrent": (ConvRecurrent, {"x": {0: "batch", 2: "time"}}, [{"x": [1, 1, 100, 80]}, {"x": [8, 1, 100, 80]},
                                                                        {"x": [1, 1, 17, 80]}]),
    "point_net": (PointNet, {"x": {0: "batch", 2: "points"}}, [{"x": [1, 3, 1024]}, {"x": [8, 3, 1024]},
                                                               {"x": [1, 3, 333]}]),
    "electra_300": (electra, {"x": {0: "batch", 1: "length"}}, [{"x": [1, 17]}, {"x": [1, 1]}, {"x": [1, 384]},
                                                                 {"x": [8, 17]}]),
    "segformer_b0": (segformer, IMAGE, images(((1, 256, 256), (1, 193, 257)))),
    "raft_small": (flow, {}, [{"x": [1, 3, 128, 160], "y": [1, 3, 128, 160]}]),
    "fcos_heads": (detector, IMAGE, images(((1, 256, 320), (1, 231, 333)))),
}


def export(name, folder):
    make, axes, runs = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    whole = name.startswith("electra")
    example = tuple(torch.randint(0, 1000, shape) if whole else torch.rand(shape) for shape in runs[0].values())
    with torch.no_grad():
        torch.onnx.export(model, example, str(folder / f"{name}.onnx"), input_names=list(runs[0]), dynamic_axes=axes,
                          opset_version=17, dynamo=False)
    kind = "int64" if whole else "float32"
    return [{"dtype": kind, "shapes": run} for run in runs]


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    listed = {}
    for name in MODELS:
        listed[name] = export(name, folder)
        print(name, flush=True)
    (folder / "runs.json").write_text(json.dumps(listed, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
