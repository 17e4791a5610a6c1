"""AWQ (Lin et al. 2023) by NVIDIA's package modelopt: the data for it is a text set of Hugging Face. Besides modelopt,
the packages torch, datasets and transformers are needed, and each is named where it is missing."""
import importlib

from sardonyx.quantization.quant_types import QuantFormat
from sardonyx.quantization.weight_only_config import WeightOnlyQuantConfig

_SAMPLES, _LONGEST, _ROWS = 32, 512, 128  # texts that are used, tokens of each, rows of the set that are loaded
_SETS = {"cnn": ("article", {"path": "cnn_dailymail", "name": "3.0.0", "split": "train"}),
         "pile": ("text", {"path": "mit-han-lab/pile-val-backup", "split": "validation"})}


def _package(name):
    try:
        return importlib.import_module(name)
    except ImportError as failure:
        package = name.split(".")[0]
        raise ImportError(f"NVAWQWeightOnlyQuantConfig needs the package {package}, which is not installed "
                          f"({failure})", name=package) from failure


class NVAWQWeightOnlyQuantConfig(WeightOnlyQuantConfig):
    """`tokenizer_dir`: the folder, or the name at Hugging Face, of the model's tokenizer and configuration.
    `dataset_name`: cnn or pile. `calibration_method`: awq_lite or awq_clip.

    Errors: ImportError for a package that is not installed; ValueError for another set."""

    def __init__(self, tokenizer_dir, dataset_name="cnn", cache_dir="./cache", calibration_method="awq_lite"):
        self.torch, self._datasets, self._transformers = map(_package, ("torch", "datasets", "transformers"))
        super().__init__("nvidia_awq", QuantFormat.QDQ)
        device = self.torch.device("cuda" if self.torch.cuda.is_available() else "cpu")
        self.calibration_method = calibration_method
        self.calibration_data_reader = self.get_calib_inputs(
            dataset_name, tokenizer_dir, cache_dir, _SAMPLES, 1, _LONGEST, device, True, False, True, _ROWS, True)

    def make_model_input(self, config, input_ids_arg, attention_mask_arg, add_past_kv_inputs, device, use_fp16,
                         use_buffer_share, add_position_ids):
        """Inputs by name, as tensors, of a decoder with this configuration for tokens and mask [batch, length].
        `use_buffer_share`: caches have their full length, otherwise they are empty."""
        torch = self.torch
        tokens, mask = (torch.as_tensor(one, device=device, dtype=torch.int64).contiguous()
                        for one in (input_ids_arg, attention_mask_arg))
        inputs = {"input_ids": tokens, "attention_mask": mask}
        if add_position_ids:
            inputs["position_ids"] = (mask.cumsum(-1) - 1).masked_fill(mask == 0, 1)
        if add_past_kv_inputs:
            shape = (tokens.shape[0], config.num_key_value_heads,
                     config.max_position_embeddings if use_buffer_share else 0,
                     config.hidden_size // config.num_attention_heads)
            kind = torch.float16 if use_fp16 else torch.float32
            for layer in range(config.num_hidden_layers):
                for part in ("key", "value"):
                    inputs[f"past_key_values.{layer}.{part}"] = torch.zeros(shape, device=device, dtype=kind)
        return inputs

    def get_calib_inputs(self, dataset_name, model_name, cache_dir, calib_size, batch_size, block_size, device,
                         use_fp16, use_buffer_share, add_past_kv_inputs, max_calib_rows_to_load, add_position_ids):
        """A list of inputs by name, as arrays, of `calib_size` texts in batches."""
        column, source = next((one for key, one in _SETS.items() if key in dataset_name), (None, None))
        if source is None:
            raise ValueError(f"dataset_name: expected cnn or pile, found '{dataset_name}'")
        if calib_size > max_calib_rows_to_load:
            raise ValueError(f"calib_size: expected at most max_calib_rows_to_load, {max_calib_rows_to_load}, found "
                             f"{calib_size}")
        config = self._transformers.AutoConfig.from_pretrained(model_name, cache_dir=cache_dir)
        tokenizer = self._transformers.AutoTokenizer.from_pretrained(model_name, cache_dir=cache_dir)
        tokenizer.pad_token = tokenizer.eos_token
        texts = self._datasets.load_dataset(**source).select(range(max_calib_rows_to_load))[column][:calib_size]
        encoded = tokenizer(texts, return_tensors="pt", padding=True, truncation=True, max_length=block_size)
        made = []
        for start in range(0, calib_size // batch_size * batch_size, batch_size):
            tokens, mask = (encoded[key][start:start + batch_size] for key in ("input_ids", "attention_mask"))
            inputs = self.make_model_input(config, tokens, mask, add_past_kv_inputs, device, use_fp16,
                                           use_buffer_share, add_position_ids)
            made.append({name: tensor.cpu().numpy() for name, tensor in inputs.items()})
        return made


class NVAWQWeightOnlyQuantizer:
    """Hands a model to modelopt."""

    def __init__(self, config: NVAWQWeightOnlyQuantConfig):
        self.config = config

    def quantize_awq(self, model):
        """The quantized onnx.ModelProto of a model (a path or an onnx.ModelProto). Errors: ImportError without
        modelopt."""
        return _package("modelopt.onnx.quantization.int4").quantize(
            model, calibration_method=self.config.calibration_method,
            calibration_data_reader=self.config.calibration_data_reader)
