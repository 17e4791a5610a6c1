"""Names of a module that are imported when they are first used: all of them would take longer to import than the rest
of the package."""
import importlib


def later(module, homes, adopts=True):
    """(__getattr__, __dir__, names) for the module whose globals() are `module`. `homes`: names by the modules that
    have them. Adopted classes say that they are of this module, as programs expect in tracebacks, logs and pickles."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name):
        if name not in home_of:
            raise AttributeError(f"module '{module['__name__']}' has no attribute '{name}'")
        thing = getattr(importlib.import_module(home_of[name]), name)
        if adopts and isinstance(thing, type) and thing.__name__ == name:
            thing.__module__ = module["__name__"]
        module[name] = thing
        return thing

    def names():
        return sorted({*module, *home_of})

    return get, names, tuple(home_of)
