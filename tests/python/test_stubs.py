"""The type stubs agree with the package: all names, and the parameters of all functions."""
import ast
import inspect
import pathlib

import pytest
import sardonyx

STUB = ast.parse((pathlib.Path(sardonyx.__file__).with_name("__init__.pyi")).read_text())


def parameters(function):
    arguments = function.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def functions():
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            yield pytest.param(None, node, id=node.name)
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and node.name != "NodeArg":  # NodeArg is compiled
                    yield pytest.param(node.name, member, id=f"{node.name}.{member.name}")


@pytest.mark.parametrize(("owner", "stub"), list(functions()))
def test_parameters_are_those_of_the_code(owner, stub):
    real = inspect.getattr_static(getattr(sardonyx, owner), stub.name) if owner else getattr(sardonyx, stub.name)
    real = getattr(real, "__func__", real)
    names = [p.name for p in inspect.signature(real).parameters.values() if p.kind != p.VAR_KEYWORD]
    assert parameters(stub) == names


def test_the_stub_has_every_public_name_and_no_other():
    stubbed = {node.name for node in STUB.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    stubbed |= {node.target.id for node in STUB.body if isinstance(node, ast.AnnAssign)} - {"__version__"}
    assert stubbed == set(sardonyx.__all__)


@pytest.mark.parametrize("owner", [node.name for node in STUB.body if isinstance(node, ast.ClassDef)])
def test_annotated_attributes_exist(owner):
    stub = next(node for node in STUB.body if isinstance(node, ast.ClassDef) and node.name == owner)
    code = getattr(sardonyx, owner)
    source = "" if owner == "NodeArg" or issubclass(code, Exception) else inspect.getsource(code)
    for member in stub.body:
        if isinstance(member, ast.AnnAssign):
            assert hasattr(code, member.target.id) or f"self.{member.target.id} =" in source, member.target.id
