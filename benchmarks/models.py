"""benchmarks/models.py - what `make bench` can run: the zoo, models of installed packages, and single nodes.

To add a kind, write a class with name, family, path() and feeds(count), and add it to `everything`.
"""
import dataclasses
import fnmatch
import functools
import importlib.util
import json
import os
import pathlib
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import model_zoo  # noqa: E402
import single_nodes  # noqa: E402

# A few of each family, the quick ones: what `make bench` runs when nobody says what. Under five minutes on two cores.
DEFAULT = ("resnet50", "mobilenet_v3_large", "shufflenet_v2_x1_0", "ssdlite320_mobilenet_v3_large", "yolov8n",
           "deeplabv3_mobilenet_v3_large", "fastvit_t8", "swin_t", "minilm_l6", "bert_base", "t5_small_decoder",
           "hifigan_v2", "whisper_tiny_decoder", "gru_denoiser", "speech_bilstm", "bert_base_fused", "minilm_int8_qdq",
           "llama_135m_genai_int4", "resnet50_fp16", "xgboost_500", "sk_tfidf_logistic", "sk_column_pipeline")


@dataclasses.dataclass(frozen=True)
class ZooModel:
    name: str
    family: str

    def path(self):
        return model_zoo.path(self.name)

    def feeds(self, count):
        return [model_zoo.inputs(self.name, seed=seed) for seed in range(count)]


@dataclasses.dataclass(frozen=True)
class PackagedModel:
    name: str
    family: str

    def _model(self):
        return next(model for model in packaged_module().models() if model.name == self.name)

    def path(self):
        return self._model().path

    def feeds(self, count):
        """The first run of the tests; the others hold its numbers in another order."""
        first = next(iter(self._model().runs()))
        return [{name: np.roll(value, 1009 * turn) if np.size(value) > 1 else value for name, value in first.items()}
                for turn in range(count)]


@dataclasses.dataclass(frozen=True)
class NodeModel:
    name: str
    family: str = "kernel"

    def path(self):
        path = pathlib.Path(tempfile.gettempdir()) / f"sardonyx-bench-{single_nodes.key(self.name)}.onnx"
        single_nodes.NODES[self.name].save(path)
        return path

    def feeds(self, count):
        return [single_nodes.NODES[self.name].inputs(seed) for seed in range(count)]


@dataclasses.dataclass(frozen=True)
class ExportedModel:
    """One run of an export of benchmarks/export_models.py: a model with one set of shapes."""

    export: str
    run: int
    family: str = "exports"

    @property
    def name(self):
        first = next(iter(exported_runs()[self.export][self.run]["shapes"].values()))
        return self.export + "@" + "x".join(str(size) for size in first)

    def path(self):
        return exports_folder() / f"{self.export}.onnx"

    def feeds(self, count):
        run = exported_runs()[self.export][self.run]
        return [{name: self._numbers(np.random.default_rng(seed), shape, run["dtype"])
                 for name, shape in run["shapes"].items()} for seed in range(count)]

    @staticmethod
    def _numbers(random, shape, dtype):
        return random.random(shape, np.float32) if dtype == "float32" else random.integers(0, 1000, shape, dtype)


def exports_folder():
    return pathlib.Path(os.environ.get("SDX_EXPORTS", ROOT / "build/exports"))


@functools.cache
def exported_runs():
    """The runs of every export; none before `make bench-exports` has made them."""
    listed = exports_folder() / "runs.json"
    return json.loads(listed.read_text()) if listed.exists() else {}


@functools.cache
def packaged_module():
    spec = importlib.util.spec_from_file_location("packaged_models", ROOT / "tests/models/zoo.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up there
    spec.loader.exec_module(module)
    return module


@functools.cache
def everything():
    """All models by name: those of the zoo if it is there, the packages', single nodes, exports if they are made."""
    zoo = [ZooModel(name, row["family"]) for name, row in model_zoo.entries().items()] if model_zoo.present() else []
    packages = [PackagedModel(model.name, "packages") for model in packaged_module().models()]
    nodes = [NodeModel(name) for name in single_nodes.NODES]
    exports = [ExportedModel(name, run) for name, runs in exported_runs().items() for run in range(len(runs))]
    return {model.name: model for model in (*zoo, *packages, *nodes, *exports)}


def default_nodes():
    """The single nodes of a run without a selection: MatMul, and the convolutions that ResNet-50 has most of."""
    return [model for model in everything().values() if model.family == "kernel"
            and (model.name.startswith("MatMul") or single_nodes.NODES[model.name].count > 2)]


def find(name):
    return everything()[name]


def select(patterns):
    """Models that names, families, globs or "all" (the whole zoo) mean; without any, the default selection."""
    known = everything()
    if not patterns:
        names = DEFAULT if model_zoo.present() else [m.name for m in known.values() if m.family == "packages"]
        return [known[name] for name in names]
    families = {model.family for model in known.values()}
    chosen = []
    for pattern in patterns:
        found = [model for model in known.values()
                 if pattern == model.family or fnmatch.fnmatch(model.name, pattern)
                 or (pattern == "all" and model.family not in ("kernel", "exports"))]
        if not found:
            raise SystemExit(f"'{pattern}' is no model and no family. Families: {' '.join(sorted(families))}; "
                             f"models: {' '.join(known)}")
        chosen += [model for model in found if model not in chosen]
    return chosen
