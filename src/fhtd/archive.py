"""One format for everything that is written to be read again: agents, learners, MDPs, results.

An archive is an uncompressed `.npz` file: a JSON manifest and plain arrays, nothing that runs code.
The manifest says what kind of thing the file holds and lists every array with shape, dtype and
SHA-256; whatever does not match is refused, with the file named, before anything is used. All sizes
are known, and no larger than the file itself, before memory is taken.

Files of earlier versions stay readable. Some of them have no list of arrays, and MDPs were
compressed: those are checked by the checksums of the zip file, and may unpack to 64 MiB at most.
"""

import hashlib
import io
import json
import math
import zipfile
import zlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fhtd.files import write_atomically

Arrays = dict[str, npt.NDArray[Any]]
Kind = Literal["agent", "learner", "mdp", "results"]

FORMAT = 3
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
    zlib.error,
)
_MANIFEST = "manifest"
_LARGEST_MANIFEST = 2**20
_LARGEST_UNPACKED = 2**26
#: The array that held the manifest, and the formats, of files from before they had a kind.
_EARLIER: dict[str, tuple[str, tuple[int | None, ...]]] = {
    "agent": ("manifest", (1, 2)),
    "learner": ("header", (1,)),
    "mdp": ("mdp", (1,)),
    "results": ("manifest", (None,)),
}
_NAMES = {
    "agent": "checkpoint",
    "learner": "learner file",
    "mdp": "MDP file",
    "results": "file of results",
}


def write(
    path: Path, kind: Kind, content: dict[str, Any], arrays: Arrays, *, keep_previous: bool = False
) -> None:
    """Write plain data and arrays, whole or not at all.

    With `keep_previous` an older file of that name becomes `<name>.previous`.
    """
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    listed = {name: _described(array) for name, array in arrays.items()}
    manifest = {"format": FORMAT, "kind": kind, **content, "arrays": listed}
    text = json.dumps(manifest, default=_plain).encode()
    packed = _pack({_MANIFEST: np.frombuffer(text, np.uint8), **arrays})
    write_atomically(path, packed, keep_previous=keep_previous)


def read(path: Path, kind: Kind) -> tuple[dict[str, Any], Arrays]:
    """Manifest and arrays of a file that must be of this kind; anything else is a ValueError.

    The manifest's `format` says which version wrote it; None for results without one.
    """
    try:
        if not path.is_file():
            path.stat()
            raise ValueError("it is not a plain file")
        with zipfile.ZipFile(path) as archive:
            manifest, arrays = _read_checked(archive, path.stat().st_size, kind)
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        raise unreadable(path, kind, error) from None
    return manifest, arrays


def unreadable(path: Path, kind: Kind, error: BaseException) -> ValueError:
    """The one error for a file whose content is not what it should be."""
    why = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, KeyError):
        why = f"it has no {why}"
    return ValueError(f"{path} is not a readable {_NAMES[kind]}: {why}")


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


def _read_checked(archive: zipfile.ZipFile, size: int, kind: Kind) -> tuple[dict[str, Any], Arrays]:
    members = {member.filename: member for member in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise ValueError("it lists a member twice")
    _check_sizes(list(members.values()), size, kind)
    earlier_name, earlier_formats = _EARLIER[kind]
    name = _MANIFEST if f"{_MANIFEST}.npy" in members else earlier_name
    head = members.get(f"{name}.npy")
    if head is None:
        raise ValueError("it has no manifest")
    if head.file_size > _LARGEST_MANIFEST:
        raise ValueError("its manifest is too large")
    manifest = json.loads(_array(_content(archive, head)).tobytes())
    version = manifest.get("format")
    # True and 1.0 equal 1, but no version of ours has written them.
    if type(version) not in (int, type(None)) or version not in (FORMAT, *earlier_formats):
        known = [str(one) for one in (*earlier_formats, FORMAT) if one is not None]
        raise ValueError(f"its format is {version!r}, this version reads {', '.join(known)}")
    if version == FORMAT and manifest["kind"] != kind:
        found = _NAMES.get(str(manifest["kind"]), "something else")
        raise ValueError(f"it is a {found}")
    listed = manifest["arrays"] if version == FORMAT or kind == "agent" else None
    names = [file.removesuffix(".npy") for file in members if file != head.filename]
    if listed is not None and set(members) != {f"{one}.npy" for one in (*listed, name)}:
        raise ValueError("its arrays are not those that the manifest lists")
    arrays = {}
    for one in names:
        array = _array(_content(archive, members[f"{one}.npy"]))
        if listed is not None and _described(array) != listed[one]:
            raise ValueError(f"array {one} does not match the manifest")
        arrays[one] = array
    return manifest, arrays


def _check_sizes(members: list[zipfile.ZipInfo], size: int, kind: Kind) -> None:
    """Refuse what would unpack to more than its file, or than an earlier MDP ever did."""
    unpacked = sum(member.file_size for member in members)
    if all(member.compress_type == zipfile.ZIP_STORED for member in members):
        # None over another: all members together cannot be larger than the file itself.
        if unpacked > size or any(m.file_size != m.compress_size for m in members):
            raise ValueError("its members overlap")
        return
    if kind != "mdp" or any(m.compress_type != zipfile.ZIP_DEFLATED for m in members):
        raise ValueError("it is compressed")
    if unpacked > _LARGEST_UNPACKED:
        raise ValueError(f"it unpacks to {unpacked} bytes")


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """No more than the member's size, however much would unpack."""
    with archive.open(member) as file:
        return file.read(member.file_size)


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
