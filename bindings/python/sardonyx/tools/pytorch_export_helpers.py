"""Names of inputs for torch.onnx.export, as the call of a module tells them."""
from __future__ import annotations

import inspect
from collections import abc


def infer_input_info(module, *inputs, **kwargs):
    """(names, values) of the inputs that `module(*inputs, **kwargs)` has, for torch.onnx.export. Elements of sequences
    and mappings are inputs of their own, NAME_INDEX and NAME_KEY; None is not an input. Numbers become tensors."""
    parameters = list(inspect.signature(module.forward).parameters.values())
    names = []
    for place, parameter in enumerate(parameters):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            for index, value in enumerate(inputs[place:]):
                _add(names, f"{parameter.name}_{index}", value)
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            for key, value in kwargs.items():
                if key not in names:
                    _add(names, key, value)
        else:
            is_positional = place < len(inputs) and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
            given = inputs[place] if is_positional else None
            _add(names, parameter.name, kwargs.get(parameter.name) if given is None else given)
    values = [_tensor(value) for value in inputs]
    values += [_tensor(kwargs[name]) for name in names if name in kwargs]
    # The exporter takes a dictionary at the end for arguments by name.
    return names, tuple(values if kwargs else [*values, {}])


def _add(names, name, value):
    if value is None:
        return
    if isinstance(value, abc.Sequence):
        for index, one in enumerate(value):
            _add(names, f"{name}_{index}", one)
    elif isinstance(value, abc.Mapping):
        for key, one in value.items():
            _add(names, f"{name}_{key}", one)
    else:
        names.append(name)


def _tensor(value):
    if type(value) not in (int, bool, float):
        return value
    import torch

    return torch.tensor(value)
