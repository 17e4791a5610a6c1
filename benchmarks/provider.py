#!/usr/bin/env python3
"""benchmarks/provider.py - a runtime alone against the same runtime with one of our plug-ins as its execution provider.

usage: benchmarks/provider.py [MODEL ...] [--provider NAME] [--host NAME] [--option KEY=VALUE ...] [--threads T]
       [--seconds S]

The plug-in is plugins/sardonyx_cpu or plugins/onednn, from build/release (or SDX_BUILD); the host ONNX Runtime's
released library, or Sardonyx. Both sessions take turns in one process, as in engines.py. A ratio above 1 says that the
plug-in is faster. MODEL is a name, a family or a glob.
"""
import argparse
import importlib
import os
import pathlib
import statistics
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("SDX_BUILD", ROOT / "build/release"))
PROVIDERS = {  # library, provider, models
    "sardonyx": ("libsardonyx_provider.so", "SardonyxExecutionProvider", ["minilm_l6", "resnet50", "lightgbm_500"]),
    "onednn": ("libonednn_provider.so", "OneDnnExecutionProvider",
               ["resnet50", "mobilenet_v3_large", "minilm_l6", "mobilenet_v3_int8_qdq"]),
}


def open_session(onnxruntime, path, threads, device, provider_options):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if device is None:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    options.add_provider_for_devices([device], {"intra_op_num_threads": str(threads), **provider_options})
    return onnxruntime.InferenceSession(str(path), options)


def compare(onnxruntime, model, device, threads, seconds, provider_options):
    import engines

    feeds = model.feeds(4)
    sessions = [open_session(onnxruntime, model.path(), threads, each, provider_options) for each in (None, device)]
    for feed in feeds:
        for theirs, ours in zip(*(session.run(None, feed) for session in sessions)):
            assert theirs.shape == ours.shape, (theirs.shape, ours.shape)
    times, ratios, begin, turns = ([], []), [], time.perf_counter(), 0
    count = None
    while len(ratios) < 7 or (time.perf_counter() - begin < seconds and len(ratios) < 60):
        pair = [0.0, 0.0]
        for side in (0, 1) if len(ratios) % 2 == 0 else (1, 0):
            engines.settle()
            measured = []
            for index in range((count or 1) + 1):  # one untimed run
                start = time.perf_counter()
                sessions[side].run(None, feeds[turns % len(feeds)])
                turns += 1
                if index:
                    measured.append(time.perf_counter() - start)
            pair[side] = statistics.median(measured)
            times[side].extend(measured)
        count = count or min(100, max(1, int(engines.TURN_SECONDS / max(pair))))
        ratios.append(pair[0] / pair[1])
    low, middle, high = np.percentile(ratios, (25, 50, 75))
    alone, with_us = (1e3 * statistics.median(side) for side in times)
    print(f"{model.name:24s} {alone:9.3f} {with_us:9.3f} {middle:6.2f} [{low:.2f} {high:.2f}]", flush=True)
    return middle


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--provider", choices=PROVIDERS, default="sardonyx")
    parser.add_argument("--host", choices=["onnxruntime", "sardonyx"], default="onnxruntime")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="of the provider")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tools"))
    import peer

    peer.require()
    import models

    if options.host == "sardonyx":
        sys.path.insert(0, str(BUILD / "python"))
    host = importlib.import_module(options.host)
    library, name, default = PROVIDERS[options.provider]
    host.register_execution_provider_library(options.provider, str(BUILD / "lib" / library))
    device = next(device for device in host.get_ep_devices() if device.ep_name == name)
    provider_options = dict(option.split("=", 1) for option in options.option)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])
    print(f"{'model':24s}  alone ms   with ms  ratio [quartiles]")
    found = [compare(host, model, device, options.threads, options.seconds, provider_options)
             for model in models.select(options.models or default)]
    print(f"geometric mean of {len(found)}: {statistics.geometric_mean(found):.2f}")


if __name__ == "__main__":
    main()
