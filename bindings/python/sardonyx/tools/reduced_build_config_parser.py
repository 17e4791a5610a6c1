"""Reads configuration files of the operators and types that a build for certain models needs."""
from __future__ import annotations

import json
import os

from sardonyx.tools.ort_format_model.operator_type_usage_processors import (
    GloballyAllowedTypesOpTypeImplFilter,
    OperatorTypeUsageManager,
)

have_flatbuffers = True  # models in ORT format are read without that package
_ALL_BY_DEFAULT, _ALLOWED = "!no_ops_specified_means_all_ops_are_required", "!globally_allowed_types;"


def parse_config(config_file: str, enable_type_reduction: bool = False):
    """({domain: {version: {operators}}}, an OpTypeImplFilterInterface) of a configuration file.

    Its lines are `domain;versions;operators`, with commas between several. The types that an operator is used with can
    stand behind its name as JSON, `Cast{"inputs": {"0": ["float"]}}`, or, for all operators, in one line
    `!globally_allowed_types;float,int64_t`, but not both. A file with the line
    `!no_ops_specified_means_all_ops_are_required` and without operators gives None: all of them. The filter is None
    without types, and without `enable_type_reduction`.

    Errors: ValueError if there is no such file; RuntimeError for contradictions and for JSON that does not end."""
    if not os.path.isfile(config_file):
        raise ValueError(f"expected a configuration file, found nothing at '{config_file}'")
    required, manager, allowed, all_by_default, has_types = {}, OperatorTypeUsageManager(), None, False, False
    with open(config_file, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    for line in lines:
        if not line or line.startswith("#"):
            continue
        if line == _ALL_BY_DEFAULT:
            all_by_default = True
        elif line.startswith(_ALLOWED):
            if allowed is not None and enable_type_reduction:
                raise RuntimeError(f"'{config_file}': expected one line of types that are allowed, found several")
            allowed = {part.strip() for part in line.split(";")[1].split(",")}
        else:
            domain, versions, operators = (part.strip() for part in line.split(";"))
            names = set()
            for name, types in _operators(operators):
                names.add(name)
                if types:
                    has_types = True
                    manager.restore_from_config_entry(domain, name, types)
            for version in versions.split(","):
                required.setdefault(domain, {}).setdefault(int(version), set()).update(names)
    if not required and all_by_default:
        required = None
    if not enable_type_reduction:
        return required, None
    if allowed is not None and has_types:
        raise RuntimeError(f"'{config_file}': expected types of single operators or types for all, found both")
    if allowed is not None:
        return required, GloballyAllowedTypesOpTypeImplFilter(allowed)
    return required, manager.make_op_type_impl_filter() if has_types else None


def _operators(text):
    """(name, JSON or "") of each operator in a line."""
    decoder, position = json.JSONDecoder(), 0
    while position < len(text):
        comma, brace = text.find(",", position), text.find("{", position)
        end = len(text) if comma < 0 else comma
        if 0 <= brace < end:
            try:
                _, end = decoder.raw_decode(text, brace)
            except ValueError:
                raise RuntimeError(f"expected types as JSON, found '{text[brace:]}'") from None
            yield text[position:brace].strip(), text[brace:end]
        else:
            yield text[position:end].strip(), ""
        position = end + 1
