"""No exception leaves a function of the C interface: the body stands in Guard, or calls what has, or cannot throw."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAPI = ROOT / "src/capi"
DECLARED = re.compile(r"ORT_API_CALL (\w+)\(")
FUNCTION = re.compile(r"ORT_API_CALL\s+(\w+)\(([^;{]*?)\)\s*noexcept\s*\{", re.S)
# What does not throw, or ends in one that is guarded. A body may be made of these alone.
SAFE = re.compile(r"""
    \b(ReleaseHandle|FreeAllocator|FreeStatus|ReportOtherKind|ExpectedName|NameOf|MakeStatus|IsOther|Given|DeviceOf|KindOf
    |AsHandle|AsValue|ToDeviceType|CpuEpDevice|Process|is_tensor|tensor|buffer|device|handle|impl|sync_id|c_str|clear|Find
    |keys|values|size|get|fprintf|move|shared_from_this|lock|string_view|begin|end|data|exists|sizeof
    |(static|reinterpret)_cast<[^>]*>)\(|\bif\s\(""", re.X)
# Functions that the check does not understand.
REASONS = {
    "Answer": "what is called is of the C standard library, or makes a status",
    "GetTensorDataType": "what stands before the guard is a constant",
    "SessionOptionsAppendExecutionProvider_V2": "ends in another function of the interface",
    "Value_GetMemoryDevice": "the only allocation is 64 bytes on the first call",
    "Release": "a destructor, and helpers of which each has a guard",
    "ReleaseSession": "what stands outside of the guard counts a thread",
}


def functions(text):
    """{name: [body]} of the functions of the C interface in a file."""
    found = {}
    for match in FUNCTION.finditer(text):
        found.setdefault(match[1], []).append(text[match.end():closing(text, match.end(), "{}") - 1])
    return found


def closing(text, at, pair):
    """The place behind the bracket that closes the one before `at`."""
    depth = 1
    while depth:
        depth += (text[at] == pair[0]) - (text[at] == pair[1])
        at += 1
    return at


def body_of(helper, text):
    """The body of a function of the file that is called `helper`, "" if the file has none."""
    match = re.search(rf"^[\w:<>*& \n]*?\b{helper}\([^;{{]*?\)\s*(?:noexcept\s*)?\{{", text, re.M | re.S)
    return text[match.end():closing(text, match.end(), "{}") - 1] if match else ""


def guarded(body, text):
    """Whether no exception leaves this body: all it does stands in a Guard, or it calls only what does not throw."""
    code, at = re.sub(r"//[^\n]*|\"(?:\\.|[^\"])*\"", "", body), 0
    # What stands in the parentheses of a guard, or of a function of the file that has one, is left out.
    while match := re.compile(r"\b(\w+)(?:<[^<>()]*>)?\(").search(code, at):
        at = match.end()
        helper = "" if match[1] == "Guard" or SAFE.match(match[0]) else body_of(match[1], text)
        if match[1] == "Guard" or "Guard(" in helper or helper and helper != body and guarded(helper, text):
            code, at = code[:match.start()] + code[closing(code, match.end(), "()"):], match.start()
    return not re.search(r"\w\s*(<[^<>]*>)?\(", SAFE.sub("", code)) and "throw" not in code


def declared():
    text = (CAPI / "functions.h").read_text()
    return set(DECLARED.findall(text.split("OrtTrainingApi")[0]))


@pytest.fixture(scope="module")
def all_functions():
    """[(file, function, guarded)]"""
    rows = []
    for file in sorted(CAPI.rglob("*.cpp")):
        if file.name.endswith("_test.cpp"):
            continue
        text = file.read_text()
        rows += [(file.name, name, guarded(body, text))
                 for name, bodies in functions(text).items() for body in bodies]
    return rows


def test_every_function_is_looked_at(all_functions):
    assert declared() - {name for _, name, _ in all_functions} == set()
    assert len(all_functions) > 550


def test_every_function_is_guarded(all_functions):
    assert [(file, name) for file, name, safe in all_functions if not safe and name not in REASONS] == []


def test_every_reason_is_needed(all_functions):
    assert set(REASONS) - {name for _, name, safe in all_functions if not safe} == set()


@pytest.mark.parametrize(("body", "safe"), [
    ("return Guard([&] { Need(out, \"out\") = Make(); });", True),
    ("Need(out, \"out\") = Make(); return nullptr;", False),
    ("const Value v = Make(); return Guard([&] { Use(v); });", False),
    ("return Modify(options, [&](Options& o) { o.list.push_back(1); });", True),
    ("return Other(options);", False),
    ("ReleaseHandle(input);", True),
])
def test_the_check_sees_what_is_outside_of_the_guard(body, safe):
    text = ("OrtStatusPtr Modify(O* o, F f) noexcept {\n  return Guard([&] { f(*o); });\n}\n"
            "int Other(O* o) {\n return Make(o);\n}\n")
    assert guarded(body, text) == safe
