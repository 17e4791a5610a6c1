"""Small networks of torch to be quantized, and inputs for them. Needs torch, so `make test` does not use it."""
import torch
from torch import nn


class Residual(nn.Module):
    """Residual sum, pools, Concat and a classifier."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16)
        self.one, self.norm1 = nn.Conv2d(16, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        self.two, self.norm2 = nn.Conv2d(16, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        self.relu, self.relu1, self.relu2 = nn.ReLU(), nn.ReLU(), nn.ReLU()
        self.pool, self.mean = nn.MaxPool2d(2), nn.AvgPool2d(2)
        self.left = nn.Conv2d(16, 8, 1)
        self.everything, self.classes = nn.AdaptiveAvgPool2d(1), nn.Linear(24, 10)

    def forward(self, x):
        x = self.pool(self.relu(self.norm(self.stem(x))))
        y = self.norm2(self.two(self.relu1(self.norm1(self.one(x)))))
        x = self.mean(self.relu2(x + y))
        x = torch.cat([x, self.left(x)], 1)
        return self.classes(torch.flatten(self.everything(x), 1))


class Mobile(nn.Module):
    """Depthwise convolutions, ReLU6, HardSwish, a gate of squeeze and excitation, Resize and ConvTranspose."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16)
        self.depth, self.norm1 = nn.Conv2d(16, 16, 3, 1, 1, groups=16, bias=False), nn.BatchNorm2d(16)
        self.point, self.norm2 = nn.Conv2d(16, 24, 1, bias=False), nn.BatchNorm2d(24)
        self.relu6, self.swish, self.gate = nn.ReLU6(), nn.Hardswish(), nn.Hardsigmoid()
        self.squeeze, self.down, self.up = nn.AdaptiveAvgPool2d(1), nn.Conv2d(24, 8, 1), nn.Conv2d(8, 24, 1)
        self.relu = nn.ReLU()
        self.larger = nn.ConvTranspose2d(24, 12, 2, 2)
        self.head = nn.Conv2d(12, 6, 1)

    def forward(self, x):
        x = self.relu6(self.norm(self.stem(x)))
        x = self.relu6(self.norm1(self.depth(x)))
        x = self.swish(self.norm2(self.point(x)))
        x = x * self.gate(self.up(self.relu(self.down(self.squeeze(x)))))
        x = nn.functional.interpolate(self.larger(x), scale_factor=2.0, mode="nearest")
        a, b = torch.split(self.head(x), 3, 1)
        return torch.cat([b, a], 1)


class Transformer(nn.Module):
    """Embedding, attention spelled out, LayerNorm, GELU."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.words = nn.Embedding(50, width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.norm1, self.norm2, self.softmax = nn.LayerNorm(width), nn.LayerNorm(width), nn.Softmax(-1)
        self.wide, self.narrow, self.gelu = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.GELU()

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, ids):
        x = self.words(ids)
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = self.softmax(torch.matmul(q, k.transpose(-1, -2)) * 0.35)
        y = torch.matmul(scores, v).transpose(1, 2).reshape(x.shape)
        x = self.norm1(x + self.o(y))
        return self.norm2(x + self.narrow(self.gelu(self.wide(x))))


class Recurrent(nn.Module):
    """An LSTM and a GRU between two quantized layers."""

    def __init__(self):
        super().__init__()
        self.before, self.after = nn.Linear(12, 16), nn.Linear(16, 5)
        self.lstm, self.gru = nn.LSTM(16, 16, batch_first=True), nn.GRU(16, 16, batch_first=True)

    def forward(self, x):
        return self.after(self.gru(self.lstm(self.before(x))[0])[0])


def inputs():
    torch.manual_seed(3)
    return {"residual": torch.randn(2, 3, 32, 32), "mobile": torch.randn(2, 3, 32, 32),
            "transformer": torch.randint(0, 50, (2, 7)), "recurrent": torch.randn(2, 6, 12)}


def networks():
    """Each network in evaluation mode, with statistics of normalization as after some training."""
    torch.manual_seed(1)
    made = {"residual": Residual(), "mobile": Mobile(), "transformer": Transformer(), "recurrent": Recurrent()}
    for network in made.values():
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                nn.init.uniform_(module.weight, 0.5, 1.5)
                nn.init.normal_(module.bias, 0, 0.3)
                nn.init.normal_(module.running_mean, 0, 0.2)
                nn.init.uniform_(module.running_var, 0.3, 1.2)
        network.eval()
    return made
