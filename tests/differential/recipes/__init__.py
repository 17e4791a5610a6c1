"""How to draw valid calls of each operator. RECIPES: {(domain, operator): function of a Draw that returns a Call}."""
import importlib

RECIPES = {}
ROOMS = ["elementwise", "tensors", "indexing", "sums", "images", "scaling", "quantized", "sequences", "recurrent",
         "attention", "signals", "learning"]


def recipe(*operators, domain=""):
    def register(function):
        for operator in operators:
            RECIPES[domain, operator] = function
        return function
    return register


def load():
    for room in ROOMS:
        importlib.import_module(f"recipes.{room}")
    return RECIPES
