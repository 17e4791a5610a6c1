"""How well a model suits the providers of phones."""
