"""Loggers of tools."""
import logging


def get_logger(name, level=logging.DEBUG):
    """The logger of that name, whose lines have time, name and level; level: the least that is written."""
    logging.basicConfig(format="%(asctime)s %(name)s [%(levelname)s] - %(message)s")
    found = logging.getLogger(name)
    found.setLevel(level)
    return found
