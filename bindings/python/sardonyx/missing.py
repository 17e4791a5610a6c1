"""Members of ONNX Runtime's package that this one lacks: using one raises an error with its name, or logs a warning."""
import functools
import inspect
import warnings


class MissingMember(NotImplementedError, AttributeError):  # noqa: N818  (what it is, not that it is one)
    """A NotImplementedError that is also an AttributeError, so that hasattr() and `try: from ... import` work."""


def refuse(owner, name, members=()):
    """For __getattr__: raises the error for a name that `owner` lacks; `members` are names that ONNX Runtime has."""
    if name in members:
        raise MissingMember(f"{owner}.{name} is not implemented in Sardonyx")
    raise AttributeError(f"{owner} has no attribute '{name}'")


def refused(member):
    """Decorates a function or class that only declares its parameters: calling it raises an error with its name.

    In a class, every method that the class defines is refused, and so is creating an object of it.
    """
    if inspect.isclass(member):
        for name, value in list(vars(member).items()):
            if inspect.isfunction(value):
                setattr(member, name, refused(value))
            elif isinstance(value, (staticmethod, classmethod)):
                setattr(member, name, type(value)(refused(value.__func__)))
        if "__init__" not in vars(member):
            member.__init__ = _refusal(member.__qualname__, member.__init__)
        member.is_refused = True
        return member
    return _refusal(member.__qualname__.removesuffix(".__init__"), member)


def _refusal(shown, function):
    @functools.wraps(function)
    def call(*_arguments, **_keywords):
        raise MissingMember(f"{shown} is not implemented in Sardonyx")

    call.is_refused = True
    return call


def warn_not_honoured(what, consequence="it is accepted and changes nothing"):
    import logging  # here, because it would be a fourth of the time of `import sardonyx`

    logging.getLogger("sardonyx").warning("%s is not honoured by Sardonyx: %s", what, consequence)


def warn(text):
    """A UserWarning that shows the line of the program, not one of this package or of the package onnxruntime."""
    frame, level = inspect.currentframe().f_back, 2
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in ("sardonyx", "onnxruntime"):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


PACKAGE = {"AdapterFormat", "SessionIOBinding"}
# What ONNX Runtime's extension module has in addition; programs use it through onnxruntime.capi.
EXTENSION = PACKAGE | {
    "ArenaExtendStrategy", "DeviceReset", "SessionObjectInitializer", "get_default_session_options",
    "get_session_initializer", "is_dlpack_uint8_tensor",
}
