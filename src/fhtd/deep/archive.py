"""A JSON manifest and plain arrays in one file: nothing that runs code.

The file is an uncompressed `.npz`. Its manifest lists every array with shape, dtype and SHA-256;
whatever does not match is refused before anything is used. Files are written beside their place and
renamed, and the one before is kept as `<name>.previous`.
"""

import hashlib
import io
import json
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
        with zipfile.ZipFile(path) as archive:
            return _read_checked(archive)
    except FileNotFoundError:
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        EOFError,
        OSError,
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        RecursionError,
        OverflowError,
        MemoryError,
    ) as error:
        raise ValueError(f"{path} is not a readable checkpoint: {error}") from None


def _read_checked(archive: zipfile.ZipFile) -> tuple[dict[str, Any], Arrays]:
    members = {member.filename: member for member in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise ValueError("it lists a member twice")
    for member in members.values():
        # Stored, not compressed: no member can be larger than the file itself.
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError(f"{member.filename} is compressed")
    head = members[f"{_MANIFEST}.npy"]
    if head.file_size > _LARGEST_MANIFEST:
        raise ValueError("its manifest is too large")
    manifest = json.loads(_array(archive.read(head)).tobytes())
    if manifest["format"] not in FORMATS:
        raise ValueError(f"its format is {manifest['format']}, this version reads {FORMATS}")
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
    found: npt.NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return found
