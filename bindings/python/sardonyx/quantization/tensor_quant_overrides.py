"""What callers ask for single tensors: types, ranges, scales, and where a value changes its type."""
import json
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from sardonyx.quantization.quant_types import QuantType

_FIXED = ("scale", "zero_point")
_COMPUTED = ("symmetric", "reduce_range", "rmax", "rmin")  # mean nothing where scale and zero point are given
_SAME_IN_ALL_CHANNELS = ("quant_type", "axis", "symmetric", "reduce_range")


@dataclass
class QuantTypeInfo:  # noqa: PLW1641  (comparison passes over what is not known, so there is no hash for it)
    """How one user of a tensor sees it quantized. None: as the quantizer's defaults say; no `axis`: as a whole."""

    quant_type: QuantType
    symmetric: bool | None = None
    reduce_range: bool | None = None
    axis: int | None = None

    def __eq__(self, other: object):
        if not isinstance(other, QuantTypeInfo):
            return NotImplemented

        def agree(one, two):
            return one is None or two is None or one == two

        return (self.quant_type == other.quant_type and self.axis == other.axis and
                agree(self.symmetric, other.symmetric) and agree(self.reduce_range, other.reduce_range))

    @staticmethod
    def load_from_dict(raw_dict: dict[str, Any], default_qtype: QuantType | None = None,
                       default_symmetric: bool | None = None,
                       default_reduce_range: bool | None = None) -> "QuantTypeInfo":
        return QuantTypeInfo(raw_dict.get("quant_type", default_qtype), raw_dict.get("symmetric", default_symmetric),
                             raw_dict.get("reduce_range", default_reduce_range), raw_dict.get("axis"))

    def save_to_dict(self, raw_dict: dict[str, Any]):
        raw_dict["quant_type"] = self.quant_type
        for key in ("symmetric", "reduce_range", "axis"):
            if getattr(self, key) is not None:
                raw_dict[key] = getattr(self, key)


class TensorQuantOverridesHelper(MutableMapping):
    """The dictionary of `TensorQuantOverrides`: for each tensor a list with one entry, or one for each channel."""

    def __init__(self, raw_overrides: dict[str, list[dict[str, Any]]]):
        self.overrides = raw_overrides
        self.quant_types = None

    def _first(self, tensor_name):
        entries = self.overrides.get(tensor_name)
        return entries[0] if entries else None

    def has_per_tensor_overrides(self, tensor_name: str) -> bool:
        first = self._first(tensor_name)
        return first is not None and "axis" not in first

    def has_per_channel_overrides(self, tensor_name: str) -> bool:
        first = self._first(tensor_name)
        return first is not None and "axis" in first

    def overrides_scale_zp(self, tensor_name: str) -> bool:
        first = self._first(tensor_name)
        return first is not None and all(key in first for key in _FIXED)

    def get_per_tensor_overrides(self, tensor_name: str,
                                 default_val: dict[str, Any] | None = None) -> dict[str, Any] | None:
        if self.has_per_channel_overrides(tensor_name):
            raise ValueError(f"TensorQuantOverrides of '{tensor_name}': expected an entry for the whole tensor, found "
                             "entries for channels")
        first = self._first(tensor_name)
        if first is None and tensor_name not in self.overrides:
            return default_val
        return first

    def get_per_channel_overrides(self, tensor_name: str,
                                  default_val: list[dict[str, Any]] | None = None) -> list[dict[str, Any]] | None:
        entries = self.overrides.get(tensor_name, default_val)
        if not entries:
            return None
        if "axis" not in entries[0]:
            raise ValueError(f"TensorQuantOverrides of '{tensor_name}': expected entries for channels, the first with "
                             "an 'axis'")
        return entries

    def get_quant_types(self) -> set[QuantType]:
        """All types that entries name."""
        if self.quant_types is None:
            entries = [entry for several in (self.overrides or {}).values() for entry in several]
            entries += [entry["convert"] for entry in entries if "convert" in entry]
            self.quant_types = {entry["quant_type"] for entry in entries if "quant_type" in entry}
        return self.quant_types

    def is_valid(self, initializers, activation_names, default_activation_qtype) -> tuple[bool, str | None]:
        """Whether a model with these tensors can be quantized so, and what stands against it. `initializers` has the
        shape of each, or an onnx.TensorProto."""
        self.quant_types = None
        for name, entries in (self.overrides or {}).items():
            fault = _fault(name, entries, initializers, activation_names, default_activation_qtype)
            if fault is not None:
                return False, f"TensorQuantOverrides of '{name}': {fault}"
        self.get_quant_types()
        return True, None

    def update_tensor_overrides(self, tensor_name: str, new_vals: dict[str, Any], channels: list[int] | None = None,
                                overwrite: bool = True) -> bool:
        """Adds values to a tensor's entries, or to those of the channels given; nothing where `overwrite` is False and
        one of them is there. Returns whether values were added."""
        if not new_vals:
            return False
        entries = self.overrides.get(tensor_name) or [{}]
        chosen = [entry for channel, entry in enumerate(entries) if channels is None or channel in channels]
        if not overwrite and any(key in entry for entry in chosen for key in new_vals):
            return False
        self.overrides[tensor_name] = entries
        for entry in chosen:
            entry.update(new_vals)
        self.quant_types = None
        return True

    def get_node_output_qtype_info(self, output_name: str, default_qtype: QuantType | None,
                                   default_symmetric: bool | None = None) -> QuantTypeInfo:
        first = self._first(output_name) or {}
        return QuantTypeInfo(first.get("quant_type", default_qtype), first.get("symmetric", default_symmetric))

    def get_node_input_qtype_info(self, input_name: str, node_name: str, default_qtype: QuantType | None,
                                  default_symmetric: bool | None = None,
                                  default_reduce_range: bool | None = None) -> QuantTypeInfo:
        """What a node reads, which may be another type than its producer wrote."""
        first = self._first(input_name)
        if first is None:
            return QuantTypeInfo(default_qtype, default_symmetric, default_reduce_range)
        if "convert" not in first:
            return QuantTypeInfo.load_from_dict(first, default_qtype, default_symmetric, default_reduce_range)
        converted = first["convert"]
        readers = converted.get("recv_nodes")
        kind = converted["quant_type"] if readers is None or node_name in readers else first.get("quant_type",
                                                                                                default_qtype)
        return QuantTypeInfo(kind, converted.get("symmetric", default_symmetric))

    def pprint_str(self, indent=None) -> str:
        return json.dumps(self.overrides, default=str, indent=indent)

    def empty(self) -> bool:
        return not self.overrides

    def get_dict(self) -> dict[str, list[dict[str, Any]]]:
        return self.overrides

    def __setitem__(self, key: str, value: list[dict]):
        self.overrides[key] = value

    def __getitem__(self, key: str) -> list[dict]:
        return self.overrides[key]

    def __delitem__(self, key: str):
        del self.overrides[key]

    def __iter__(self):
        return iter(self.overrides)

    def __len__(self):
        return len(self.overrides)

    def __str__(self) -> str:
        return str(self.overrides)

    def __repr__(self) -> str:
        return f"TensorQuantOverridesHelper({self.overrides})"


def _fault(name, entries, initializers, activation_names, default_activation_qtype):
    """What is wrong with the entries of a tensor; None if nothing is."""
    if name not in initializers and name not in activation_names:
        return "the model has no such tensor"
    form = _fault_of_form(entries)
    if form is not None:
        return form
    if not entries or not entries[0]:
        return None
    if len(entries) == 1 and entries[0].get("axis") is None:
        return _fault_of_tensor(entries[0], name in initializers, default_activation_qtype)
    return _fault_of_channels(entries, initializers.get(name))


def _fault_of_form(entries):
    if not isinstance(entries, list):
        return f"expected a list of dictionaries, found '{type(entries).__name__}'"
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            return f"entry {index}: expected a dictionary, found '{type(entry).__name__}'"
    return None


def check_form(overrides):
    """Raises ValueError for TensorQuantOverrides that are no lists of dictionaries, before anything looks into them."""
    for name, entries in (overrides or {}).items():
        fault = _fault_of_form(entries)
        if fault is not None:
            raise ValueError(f"TensorQuantOverrides of '{name}': {fault}")


def _fault_of_scale(entry):
    given = [key for key in _FIXED if key in entry]
    if len(given) == 1:
        return f"expected both 'scale' and 'zero_point', found only '{given[0]}'"
    useless = [key for key in _COMPUTED if key in entry]
    if given and useless:
        return f"'{useless[0]}' has no meaning beside 'scale' and 'zero_point'"
    return None


def _fault_of_tensor(entry, is_initializer, default_activation_qtype):
    if "reduce_range" in entry and not is_initializer:
        return "'reduce_range' is for weights, and this is an activation"
    if "convert" not in entry:
        return _fault_of_scale(entry)
    converted = entry["convert"]
    if is_initializer:
        return "'convert' is for activations, and this is a weight"
    if "quant_type" not in converted:
        return "'convert' has no 'quant_type'"
    if "reduce_range" in converted:
        return "'reduce_range' is for weights, and this is an activation"
    if converted["quant_type"] == entry.get("quant_type", default_activation_qtype):
        return f"'convert' leads to the type that the tensor has: {converted['quant_type']}"
    return _fault_of_scale(entry) or _fault_of_scale(converted)


def _fault_of_channels(entries, weight):
    if weight is None:
        return "entries for channels are for weights, and this is an activation"
    shape = tuple(getattr(weight, "dims", weight))
    first, axis = entries[0], entries[0].get("axis")
    if axis is None:
        return "the first of the entries for channels has no 'axis'"
    if not -len(shape) <= axis < len(shape):
        return f"expected an axis of a tensor of the shape {shape}, found {axis}"
    if len(entries) not in (1, shape[axis]):
        return f"expected one entry or {shape[axis]}, as many as axis {axis} has channels, found {len(entries)}"
    for index, entry in enumerate(entries):
        where = f"channel {index}: "
        if "convert" in entry:
            return f"{where}'convert' is for activations, and this is a weight"
        if ("rmin" in entry) != ("rmax" in entry):
            return f"{where}expected both 'rmin' and 'rmax', found one"
        fault = _fault_of_scale(entry)
        if fault is not None:
            return where + fault
        for key in _SAME_IN_ALL_CHANNELS:
            same = entry.get(key) == first.get(key) or (key == "axis" and entry.get(key) == axis % len(shape))
            if key in entry and not same:
                return f"{where}'{key}' is {entry[key]}, and {first.get(key)} in the first channel"
        for pair in (_FIXED, ("rmin", "rmax")):
            if all(key in first for key in pair) and not all(key in entry for key in pair):
                return f"{where}expected '{pair[0]}' and '{pair[1]}', which the first channel has"
    return None
