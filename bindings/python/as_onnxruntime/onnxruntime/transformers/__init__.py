"""onnxruntime.transformers: the modules of sardonyx.transformers by their other names, so that classes are the same.
What needs torch, and what is only for one of ONNX Runtime's kernels, raises an error with its name."""
from onnxruntime._same_modules import SameModules

_OF_TORCH = ("benchmark bert_perf_test compare_bert_results convert_generation convert_tf_models_to_pytorch "
             "huggingface_models large_model_exporter models onnx_exporter past_helper quantize_helper "
             "torch_onnx_export_helper").split()
_FUSIONS = ("attention attention_clip attention_sam2 attention_unet attention_vae bart_attention base bias_add "
            "biasgelu biassplitgelu conformer_attention constant_fold embedlayer fastgelu gelu gelu_approximation "
            "gemmfastgelu gpt_attention gpt_attention_megatron gpt_attention_no_past group_norm layernorm mha_dit "
            "mha_mmdit nhwc_conv qordered_attention qordered_gelu qordered_layernorm qordered_matmul quickgelu reshape "
            "rotary_attention shape simplified_layernorm skip_group_norm skiplayernorm transpose").split()
_PROGRAMS = ("affinity_helper bert_test_data machine_info metrics profile_result_processor "
             "profiler shape_optimizer").split()

SameModules(__name__, "sardonyx.transformers", own=("float16", "io_binding_helper"), lacking={
    **dict.fromkeys(_OF_TORCH, ", as it exports models with torch"),
    **dict.fromkeys([f"fusion_{name}" for name in _FUSIONS], ": passes of the optimizer make its nodes"),
    **dict.fromkeys(_PROGRAMS, "")})
