"""All cells (operator, version, type of the main variable), and the case of a name.

A name is DOMAIN.OPERATOR-VERSION/TYPE/INDEX, or chain/KIND/INDEX: with the seed it says everything about a case.
"""
import dataclasses

import chains
import fallbacks
import recipes
from calls import HISTORY, KINDS, NAMES, Draw, build, last_opset, main_variable

RECIPES = recipes.load()
NEWER = 27  # the first opset that ONNX Runtime 1.31 refuses
ELEMENTS = {"S": 4, "O": 9}  # length of "seq(" and "optional("
NO_CASES = {  # operators without cases here, and why
    "Gradient": "tests/gradient compares its derivatives with finite differences",
    "ImageDecoder": "tests/images decodes real files",
    "CastMap": "its input is a map, which a graph's input cannot be",
    "DictVectorizer": "its input is a map, which a graph's input cannot be",
    "SwiGLU": "new in opset 28, which has no kernel here yet",
}


def kinds_of(schema):
    """The element types of the main variable, as numbers; [None] where a schema has no such variable."""
    variable = main_variable(schema)
    if variable is None:
        return None, [None]
    (constraint,) = [c for c in schema.type_constraints if c.type_param_str == variable]
    found = []
    for text in constraint.allowed_type_strs:
        for head in ("", "seq(", "optional("):
            inner = text[len(head):len(text) - (1 if head else 0)]
            if text.startswith(head) and inner in KINDS and KINDS[inner] not in found:
                found.append(KINDS[inner])
    return variable, sorted(found)


def schemas(operators=(), newest_only=False):
    for key, group in sorted(HISTORY.items()):
        if operators and key[1] not in operators:
            continue
        for schema in group[-1:] if newest_only else group:
            if not schema.deprecated and key in RECIPES:
                yield schema


def cells(operators=(), newest_only=False):
    """Names of all cells, without an index."""
    for schema in schemas(operators, newest_only):
        for kind in kinds_of(schema)[1]:
            yield f"{schema.domain or 'ai.onnx'}.{schema.name}-{schema.since_version}/{NAMES[kind] if kind else 'any'}"


def schema_of(domain, operator, version):
    (schema,) = [s for s in HISTORY[domain, operator] if s.since_version == version]
    return schema


def make(name, seed, mood=None):
    """The case of a name."""
    cell, _, index = name.rpartition("/")
    if cell.startswith("chain/"):
        return chains.make(cell[6:], seed, int(index), name, mood)
    front, _, kind = cell.partition("/")
    full, _, version = front.rpartition("-")
    domain, _, operator = full.rpartition(".")
    domain = "" if domain == "ai.onnx" else domain
    schema = schema_of(domain, operator, int(version))
    variable = main_variable(schema)
    fixed = {} if kind == "any" else {variable: KINDS[f"tensor({kind})"]}
    draw = Draw(schema, seed, int(index), fixed, mood)
    call = RECIPES[domain, operator](draw)
    case = build(schema, draw, call, name)
    stripped = fallbacks.stripped(call.attributes)
    if call.newest is None and stripped != call.attributes:
        call.newest = dataclasses.replace(call, attributes=stripped)
    if call.newest:
        newer = [s for s in HISTORY[domain, operator] if not s.deprecated and s.since_version < NEWER]
        names = Draw(newer[-1], seed, int(index), dict(draw.types), mood)
        other = build(newer[-1], names, call.newest, name, min(last_opset(newer[-1]), NEWER - 1))
        case.newest = (other.model, other.feeds)
    return case


def operators_of(case):
    return [node.op_type for node in case.model.graph.node]
