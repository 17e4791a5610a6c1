"""Allocators of host memory that sessions share."""
import numpy as np

from sardonyx import _core


class OrtArenaCfg:
    """How an arena that sessions share gets its memory (create_and_register_allocator): four numbers, or a dict. -1
    leaves it to the library."""

    __slots__ = ("max_mem", "arena_extend_strategy", "initial_chunk_size_bytes", "max_dead_bytes_per_chunk",
                 "initial_growth_chunk_size_bytes", "max_power_of_two_extend_bytes")

    def __init__(self, *values):
        if len(values) == 4:
            values = [dict(zip(self.__slots__, values))]
        if len(values) != 1 or not isinstance(values[0], dict):
            raise TypeError(f"expected a dict or four numbers ({', '.join(self.__slots__[:4])}), found {values}")
        (given,) = values
        unknown = set(given) - set(self.__slots__)
        if unknown:
            raise RuntimeError(f"expected keys among {', '.join(self.__slots__)}, found {', '.join(sorted(unknown))}")
        for name in self.__slots__:
            number = given.get(name, 0 if name == "max_mem" else -1)
            if not isinstance(number, (int, np.integer)):
                raise RuntimeError(f"{name}: expected an integer, found {number!r}")
            setattr(self, name, int(number))


def create_and_register_allocator(memory_info, arena_cfg):
    """Registers an allocator of host memory for the sessions whose options have session.use_env_allocators = 1."""
    create_and_register_allocator_v2("CPUExecutionProvider", memory_info, {}, arena_cfg)


def create_and_register_allocator_v2(provider, memory_info, options, arena_cfg):
    """The same for a provider by name; `options` are for providers that have any."""
    if options:
        raise _core.InvalidArgument(f"create_and_register_allocator_v2: expected no options of {provider}, "
                                    f"found {options}")
    arena = {} if arena_cfg is None else {name: getattr(arena_cfg, name) for name in arena_cfg.__slots__}
    _core.register_allocator(provider, memory_info.name, int(memory_info.allocator_type), memory_info.device_id,
                             int(memory_info.mem_type), arena)
