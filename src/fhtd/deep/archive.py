"""A JSON manifest and plain arrays in one file: nothing that runs code.

The file is an uncompressed `.npz`. Its manifest lists every array with shape, dtype and SHA-256;
whatever does not match is refused before anything is used. Files are written beside their place and
renamed, and the one before is kept as `<name>.previous`.
"""

import hashlib
import io
import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd.files import write_atomically

Arrays = dict[str, npt.NDArray[Any]]

#: 2: replay in rows, with the length of each window. 1: replay by field.
FORMAT = 2
FORMATS = (1, 2)
#: What reading a damaged or hostile file may raise on the way; it becomes one clear ValueError.
UNREADABLE = (
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RuntimeError,
    EOFError,
    OSError,
    MemoryError,
    zipfile.BadZipFile,
)
_MANIFEST = "manifest"
_LARGEST_MANIFEST = 2**20


def write(path: Path, content: dict[str, Any], arrays: Arrays) -> None:
    """Write plain data and arrays; an older file of that name becomes `<name>.previous`."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    listed = {name: _described(array) for name, array in arrays.items()}
    manifest = {"format": FORMAT, **content, "arrays": listed}
    text = json.dumps(manifest, default=_plain).encode()
    packed = _pack({_MANIFEST: np.frombuffer(text, np.uint8), **arrays})
    write_atomically(path, packed, keep_previous=True)


def _described(array: npt.NDArray[Any]) -> dict[str, Any]:
    return {
        "shape": list(array.shape),
        "dtype": array.dtype.str,
        "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
    }


def _pack(arrays: Arrays) -> bytes:
    """An uncompressed `.npz` without dates: the same arrays give the same bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
    return content.getvalue()


def _plain(value: Any) -> Any:
    """Numbers of NumPy's as Python's."""
    return value.item() if isinstance(value, np.generic) else list(value)


def read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Manifest and arrays, checked against each other; anything else is a ValueError."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise ValueError("it is not a plain file")
        with zipfile.ZipFile(path) as archive:
            return _read_checked(archive, size)
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        raise ValueError(f"{path} is not a readable checkpoint: {error}") from None


def _read_checked(archive: zipfile.ZipFile, size: int) -> tuple[dict[str, Any], Arrays]:
    members = {member.filename: member for member in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise ValueError("it lists a member twice")
    for member in members.values():
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError(f"{member.filename} is compressed")
    # Stored, and none over another: all members together cannot be larger than the file itself.
    if sum(member.file_size for member in members.values()) > size:
        raise ValueError("its members overlap")
    head = members[f"{_MANIFEST}.npy"]
    if head.file_size > _LARGEST_MANIFEST:
        raise ValueError("its manifest is too large")
    manifest = json.loads(_array(archive.read(head)).tobytes())
    version = manifest["format"]
    # True and 1.0 equal 1, but no version of ours has written them.
    if type(version) is not int or version not in FORMATS:
        raise ValueError(f"its format is {version!r}, this version reads {FORMATS}")
    listed = manifest["arrays"]
    if set(members) != {f"{name}.npy" for name in (*listed, _MANIFEST)}:
        raise ValueError("its arrays are not those that the manifest lists")
    arrays = {}
    for name, expected in listed.items():
        array = _array(archive.read(members[f"{name}.npy"]))
        if _described(array) != expected:
            raise ValueError(f"array {name} does not match the manifest")
        arrays[name] = array
    return manifest, arrays


def _array(content: bytes) -> npt.NDArray[Any]:
    """The array of a `.npy` file as `_pack` writes it; its size is that of its bytes."""
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array has another version of NumPy's format")
    try:
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    except Exception as error:
        # NumPy parses the header as Python's literals, which can fail in many ways.
        raise ValueError(f"an array's header cannot be read: {error}") from None
    data = file.read()
    if dtype.kind not in "biufc" or is_fortran or any(length < 0 for length in shape):
        raise ValueError("an array does not hold plain numbers in C order")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"an array of shape {shape} does not have {len(data)} bytes")
    return np.frombuffer(data, dtype).reshape(shape)
