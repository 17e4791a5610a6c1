"""usage: python -m sardonyx.commands REQUEST, a JSON file that the command line tool writes."""
import json
import sys
import traceback
from types import SimpleNamespace

from sardonyx.commands.failure import Failure, library_message
from sardonyx.commands.files import is_full, raise_on_signals, undisturbed
from sardonyx.commands.terminal import styled

_INTERRUPTED = 130
# Errors of the library, which name file, node and value.
_LIBRARY = (ValueError, RuntimeError, TypeError, OSError, NotImplementedError, MemoryError)


def _report(failure, code, as_json):
    """`failure`: an exception or a text."""
    text = str(failure) or type(failure).__name__
    if as_json:
        print(json.dumps({"error": {"code": code, "message": text}}, indent=2))
    else:
        print(f"{styled('red', 'sardonyx: error:', sys.stderr)} {text} [{code}]", file=sys.stderr)


def _told(failure, request):
    if is_full(failure) and request.folder in str(failure):
        return f"{failure} (that is the folder for temporary files: TMPDIR names another)"
    return failure


def main(path):
    raise_on_signals()
    with open(path, encoding="utf-8") as file:
        request = SimpleNamespace(**json.load(file))
    try:
        if request.command == "convert":
            from sardonyx.commands.convert import run
        elif request.command == "generate":
            from sardonyx.commands.generate import run
        else:
            from sardonyx.commands.quantize import run
        return run(request) or 0
    except KeyboardInterrupt:
        with undisturbed():
            print("sardonyx: stopped; nothing half-written is left", file=sys.stderr)
        return _INTERRUPTED
    except Failure as failure:
        _report(failure, failure.code, request.json)
        return failure.exit_code
    except _LIBRARY as failure:
        is_missing = isinstance(failure, NotImplementedError)
        code = getattr(failure, "code", None) or ("NOT_IMPLEMENTED" if is_missing else "FAIL")
        _report(_told(failure, request), code if isinstance(code, str) else "FAIL", request.json)
        return 3 if is_missing else 1
    except Exception as failure:
        if library_message(failure) is not None:
            _report(_told(library_message(failure), request), "FAIL", request.json)
            return 1
        # A defect: what is known of it helps to find it.
        traceback.print_exc()
        _report(f"this tool has a defect, please report it: {type(failure).__name__}: {failure}", "FAIL", request.json)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
