"""Refuse bad arguments by name, before anything changes."""

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def integer(name: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Return `value` as an int within [minimum, maximum]."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    result = int(value)
    if result < minimum or (maximum is not None and result > maximum):
        bound = f"at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise ValueError(f"{name} must be {bound}, got {result}")
    return result


def real(name: str, value: Any, minimum: float = -math.inf, maximum: float = math.inf) -> float:
    """Return `value` as a finite float within [minimum, maximum]."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or not minimum <= number <= maximum:
        limits = []
        if minimum > -math.inf:
            limits.append(f"at least {minimum:g}")
        if maximum < math.inf:
            limits.append(f"at most {maximum:g}")
        expected = " and ".join(["finite", *limits])
        raise ValueError(f"{name} must be {expected}, got {value!r}")
    return number


def boolean(name: str, value: Any) -> bool:
    """Return `value`, which must be True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return value


def positive(name: str, value: Any) -> float:
    """Return `value` as a finite float above zero."""
    number = real(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be greater than 0, got {value!r}")
    return number


def number(name: str, value: Any) -> float | complex:
    """Return `value` as a finite float, or as a finite complex where it is of a complex type."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Complex):
        raise TypeError(f"{name} must be a real or complex number, got {value!r}")
    result = complex(value)
    if not (math.isfinite(result.real) and math.isfinite(result.imag)):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return result.real if isinstance(value, numbers.Real) else result


def array(
    name: str,
    value: Any,
    shape: Sequence[int | None] | None = None,
    allow_complex: bool = False,
) -> npt.NDArray[Any]:
    """Return `value` as a finite float (or complex) array; None in `shape` matches any length."""
    try:
        result = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array: {error}") from None
    if result.dtype == object or not (
        np.issubdtype(result.dtype, np.number) or result.dtype == np.bool_
    ):
        raise TypeError(f"{name} must hold numbers, got dtype {result.dtype}")
    is_complex = np.issubdtype(result.dtype, np.complexfloating)
    if is_complex and not allow_complex:
        raise TypeError(f"{name} must hold real numbers, got dtype {result.dtype}")
    if shape is not None and (
        result.ndim != len(shape)
        or any(shape[i] not in (None, result.shape[i]) for i in range(result.ndim))
    ):
        wanted = "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
        raise ValueError(f"{name} must have shape {wanted}, got {result.shape}")
    result = result.astype(np.complex128 if is_complex else np.float64)
    if not np.all(np.isfinite(result)):
        raise ValueError(f"{name} must hold finite numbers only")
    return result


def probabilities(name: str, value: Any, shape: Sequence[int | None]) -> npt.NDArray[np.float64]:
    """Return `value` as an array whose last axis sums to one, without negative entries."""
    result = array(name, value, shape)
    if np.any(result < 0):
        raise ValueError(f"{name} must hold probabilities of at least 0, got {result.min():g}")
    sums = result.sum(axis=-1)
    if np.any(np.abs(sums - 1) > 1e-8):
        worst = np.unravel_index(np.argmax(np.abs(sums - 1)), sums.shape)
        where = "" if sums.ndim == 0 else f" at {tuple(int(i) for i in worst)}"
        raise ValueError(f"{name} must sum to 1 over the last axis, got {sums[worst]:g}{where}")
    return result


def frozen(value: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a contiguous copy that cannot be written to."""
    result = np.array(value, order="C")
    result.setflags(write=False)
    return result


def free_memory() -> int | None:
    """Bytes of memory available, or None where the system does not say."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def fits_memory(needs: str, needed: int) -> None:
    """Refuse what would not fit into the memory that is free; `needs` says what it is."""
    free = free_memory()
    if free is not None and needed > free:
        raise ValueError(
            f"{needs} {needed / 2**30:.1f} GiB, but only {free / 2**30:.1f} GiB are free"
        )
