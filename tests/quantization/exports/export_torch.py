"""Exports small quantized networks in the spellings of torch: `python export_torch.py FOLDER`.

Needs an environment of its own: torch 2.6 (the last one with quantization in torch.ao and the exporter of
TorchScript) and onnxscript; with torchao, pt2e comes from there. What a release of torch lacks is said and left out.
"""
import copy
import pathlib
import sys
import traceback
import warnings

import torch
from torch_networks import inputs, networks

warnings.filterwarnings("ignore")


def save(model, x, path, dynamo=False):
    if dynamo:
        with torch.no_grad():
            torch.onnx.export(model, (x,), path, dynamo=True, external_data=False)
    else:
        torch.onnx.export(model, (x,), path, opset_version=17, input_names=["x"], output_names=["y"],
                          **({"dynamo": False} if "dynamo" in torch.onnx.export.__code__.co_varnames else {}))


def calibrate(model, x, runs=4):
    with torch.no_grad():
        for _ in range(runs):
            model(x)
    return model


def graph_mode(network, x, backend):
    """Fake quantization inserted by torch.ao's graph mode; its modules stay in the model."""
    from torch.ao.quantization import get_default_qat_qconfig_mapping
    from torch.ao.quantization.quantize_fx import prepare_qat_fx

    # Version 0 has FakeQuantize as one operator that the exporter knows.
    mapping = get_default_qat_qconfig_mapping(backend, version=0).set_object_type(torch.nn.Embedding, None)
    model = prepare_qat_fx(copy.deepcopy(network).train(), mapping, (x,))
    calibrate(model, x)
    model.apply(torch.ao.quantization.disable_observer)
    model.apply(torch.nn.intrinsic.qat.freeze_bn_stats)
    return model.eval()


def fake_quantize(network, x, path, backend):
    save(graph_mode(network, x, backend), x, path)


def converted(network, x, path):
    from torch.ao.quantization.quantize_fx import convert_fx

    torch.backends.quantized.engine = "fbgemm"
    save(convert_fx(graph_mode(network, x, "fbgemm")), x, path)


def reference(network, x, path, backend="fbgemm"):
    """convert_to_reference_fx: quantize and dequantize as calls, weights dequantized in the modules."""
    from torch.ao.quantization.quantize_fx import convert_to_reference_fx

    save(convert_to_reference_fx(graph_mode(network, x, backend)), x, path)


def pt2e(network, x, path, qat):
    try:
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
        from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
            X86InductorQuantizer,
            get_default_x86_inductor_quantization_config,
        )
    except ImportError:
        from torch.ao.quantization.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
        from torch.ao.quantization.quantizer.x86_inductor_quantizer import (
            X86InductorQuantizer,
            get_default_x86_inductor_quantization_config,
        )
    exported = torch.export.export_for_training if hasattr(torch.export, "export_for_training") else torch.export.export
    graph = exported(copy.deepcopy(network).train(qat), (x,)).module()
    quantizer = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config(is_qat=qat))
    model = calibrate((prepare_qat_pt2e if qat else prepare_pt2e)(graph, quantizer), x)
    save(convert_pt2e(model), x, path, dynamo=True)


def pt2e_xnnpack(network, x, path):
    from torch.ao.quantization.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torch.ao.quantization.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )

    graph = torch.export.export_for_training(copy.deepcopy(network), (x,)).module()
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    save(convert_pt2e(calibrate(prepare_pt2e(graph, quantizer), x)), x, path, dynamo=True)


WAYS = {
    "fbgemm": lambda n, x, p: fake_quantize(n, x, p, "fbgemm"),
    "qnnpack": lambda n, x, p: fake_quantize(n, x, p, "qnnpack"),
    "converted": converted,
    "reference": reference,
    "pt2e": lambda n, x, p: pt2e(n, x, p, False),
    "pt2e_qat": lambda n, x, p: pt2e(n, x, p, True),
    "pt2e_xnnpack": pt2e_xnnpack,
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[2:] or WAYS
    for name, network in networks().items():
        x = inputs()[name]
        for way in wanted:
            path = folder / f"torch_{way}_{name}.onnx"
            try:
                WAYS[way](network, x, str(path))
                print("exported", path.name)
            except Exception as error:
                print("not exported", path.name, type(error).__name__, str(error).strip().splitlines()[:1])
                if "-v" in sys.argv:
                    traceback.print_exc()


if __name__ == "__main__":
    main()
