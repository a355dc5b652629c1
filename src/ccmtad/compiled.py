"""Functions written once: run by the interpreter, or compiled where numba is installed.

A `kernel` works on records with named fields, on sequences and on numbers, and may call other kernels. An `Entry` is
where callers come in: `plain` is the function itself, `fast` the same function compiled. Compiled, a record is an
element of a structured numpy array; interpreted, it is a plain object, which Python reads several times faster.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, TypeVar

__all__ = ["Entry", "available", "fast_kernel", "hot_kernel", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

_KERNELS: dict[Callable[..., Any], dict[str, Any]] = {}  # with what numba is told about each


def kernel(function: Function) -> Function:
    """Marks a function that compiled code may call; for the interpreter it stays what it is."""
    _KERNELS[function] = {}
    return function


def hot_kernel(function: Function) -> Function:
    """The same, written out where it is called: handing over a dozen arrays takes longer than what some of them do."""
    _KERNELS[function] = {"inline": "always"}
    return function


def fast_kernel(function: Function) -> Function:
    """The same, compiled with quick mathematics: only where no infinity and no NaN is ever looked at."""
    _KERNELS[function] = {"fastmath": True}
    return function


@cache
def available() -> bool:
    """Whether numba is installed, and works."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


class Entry:
    """A function that is called from outside, compiled or not."""

    def __init__(self, function: Callable[..., Any], *, fastmath: bool = False) -> None:
        self.plain = function
        self.fastmath = fastmath  # only where no infinity and no NaN is ever looked at
        self.__doc__ = function.__doc__

    @cached_property
    def fast(self) -> Any:
        """The compiled twin, from the disk where it has been compiled before."""
        return _compile(self.plain, self.fastmath)

    def __call__(self, *arguments: Any) -> Any:
        """Compiled where that can be; for functions that take no records."""
        return (self.fast if available() else self.plain)(*arguments)


def _compile(function: Callable[..., Any], fastmath: bool) -> Any:
    from numba import njit

    stamp = _register(len(_KERNELS))
    options: Any = {"fastmath": fastmath, "error_model": "numpy"}  # a check for division by 0 would stop vectorising
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # no folder to keep it in: a read-only container, say
        return njit(**options)(function)
    # numba looks at the file of the entry alone: a change in a kernel elsewhere must not run yesterday's code.
    file = compiled._cache._cache_file
    file._source_stamp = (file._source_stamp, stamp)
    return compiled


@cache
def _register(number: int) -> str:  # noqa: ARG001  kernels may have been added since
    """Tells numba of every kernel; a digest of their sources."""
    from numba.extending import overload, register_jitable

    if not _seen:

        @overload(bisect_left)
        def _overloaded(a: Any, x: Any, lo: Any, hi: Any) -> Any:  # noqa: ARG001  numba wants the arguments by these names
            return _bisect

    for function, told in _KERNELS.items():
        if function not in _seen:
            options: Any = {"error_model": "numpy", **told}
            register_jitable(**options)(function)
            _seen.add(function)
    files = sorted({function.__code__.co_filename for function in _KERNELS})
    digest = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


_seen: set[Callable[..., Any]] = set()


def _bisect(a: Any, x: Any, lo: Any, hi: Any) -> Any:
    while lo < hi:
        middle = (lo + hi) // 2
        if a[middle] < x:
            lo = middle + 1
        else:
            hi = middle
    return lo
