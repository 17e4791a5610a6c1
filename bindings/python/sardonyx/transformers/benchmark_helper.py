"""Sessions for measurements, and what is told of times. What measures memory or needs torch is not here."""
import logging
import os
import random
import timeit
from enum import Enum

import numpy as np

logger = logging.getLogger(__name__)

_VARIABLES = ("ORT_DISABLE_FUSED_ATTENTION", "ORT_DISABLE_FUSED_CROSS_ATTENTION", "ORT_DISABLE_TRT_FLASH_ATTENTION",
              "ORT_DISABLE_MEMORY_EFFICIENT_ATTENTION", "ORT_TRANSFORMER_OPTIONS", "ORT_CUDA_GEMM_OPTIONS")
_PROVIDERS = {"dml": ["DmlExecutionProvider"], "migraphx": ["MIGraphXExecutionProvider"],
              "cuda": ["CUDAExecutionProvider"], None: ["CUDAExecutionProvider"],
              "tensorrt": ["TensorrtExecutionProvider", "CUDAExecutionProvider"]}


class Precision(Enum):
    FLOAT32 = "fp32"
    FLOAT16 = "fp16"
    INT8 = "int8"
    INT4 = "int4"

    def __str__(self):
        return self.value


class OptimizerInfo(Enum):
    NOOPT = "no_opt"
    BYORT = "by_ort"
    BYSCRIPT = "by_script"

    def __str__(self):
        return self.value


def create_onnxruntime_session(onnx_model_path, use_gpu, provider=None, enable_all_optimization=True, num_threads=-1,
                               enable_profiling=False, verbose=False, enable_mlas_gemm_fastmath_arm64_bfloat16=False,
                               provider_options={}):  # noqa: B006
    """A session for a model; None, and a logged error, if there cannot be one. `provider`: the name of an execution
    provider, or with `use_gpu` "cuda", "tensorrt", "dml" or "migraphx". `provider_options`: by provider."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if enable_all_optimization else levels.ORT_ENABLE_BASIC
    options.enable_profiling = enable_profiling
    options.log_severity_level = 0 if verbose else 4
    if num_threads > 0:
        options.intra_op_num_threads = num_threads
    if enable_mlas_gemm_fastmath_arm64_bfloat16:
        options.add_session_config_entry("mlas.enable_gemm_fastmath_arm64_bfloat16", "1")
    if provider in onnxruntime.get_available_providers():
        providers = [provider]
    elif use_gpu and provider not in _PROVIDERS:
        raise RuntimeError(f"expected one of {', '.join(filter(None, _PROVIDERS))}, found {provider!r}")
    else:
        providers = [*(_PROVIDERS[provider] if use_gpu else []), "CPUExecutionProvider"]
    chosen = [(name, provider_options[name]) if name in provider_options else name for name in providers]
    try:
        return onnxruntime.InferenceSession(onnx_model_path, options, providers=chosen)
    except Exception:
        logger.exception("there is no session for %s with %s", onnx_model_path, providers)
        return None


def setup_logger(verbose=True):
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, format="%(message)s")
    if not verbose:
        logging.getLogger("transformers").setLevel(logging.WARNING)


def get_latency_result(latency_list, batch_size):
    """Texts for a table, of times in seconds: milliseconds, and what is done in a second ("QPS")."""
    times = 1000 * np.asarray(latency_list, np.float64)
    percentiles = {f"latency_{rank}_percentile": f"{np.percentile(times, rank):.2f}" for rank in (90, 95, 99)}
    return {"test_times": len(times), "latency_variance": f"{np.var(times / 1000) * 1000:.2f}", **percentiles,
            "average_latency_ms": f"{times.mean():.2f}", "QPS": f"{batch_size * 1000 / times.mean():.2f}"}


def inference_ort(ort_session, ort_inputs, result_template, repeat_times, batch_size, warm_up_repeat=0):
    """Measures runs; the template with get_latency_result's texts."""
    def run():
        ort_session.run(None, ort_inputs)

    timeit.repeat(run, number=1, repeat=warm_up_repeat)
    times = timeit.repeat(run, number=1, repeat=repeat_times)
    return {**result_template, "io_binding": False, **get_latency_result(times, batch_size)}


def set_random_seed(seed=123):
    """Of random, NumPy and, where it is there, torch."""
    from sardonyx.transformers.import_utils import is_installed

    random.seed(seed)
    np.random.seed(seed)
    if is_installed("torch"):
        import torch

        torch.manual_seed(seed)


def get_ort_environment_variables():
    """Those that are set of ONNX Runtime's for its attention kernels: "NAME=VALUE,NAME=VALUE"."""
    return ",".join(f"{name}={os.environ[name]}" for name in _VARIABLES if name in os.environ)


def __getattr__(name):
    from sardonyx.missing import MissingMember

    if name in ("ConfigModifier", "CudaMemoryMonitor", "MemoryMonitor", "RocmMemoryMonitor", "allocateOutputBuffers",
                "get_gpu_info", "inference_ort_with_io_binding", "measure_memory", "output_details",
                "output_fusion_statistics", "output_summary", "prepare_environment"):
        raise MissingMember(f"onnxruntime.transformers.benchmark_helper.{name} is not implemented in Sardonyx: it "
                            "measures models of torch, or a GPU")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
