"""Files that are whole or absent, whatever happens while they are written."""

import os
import secrets
from pathlib import Path


def write_atomically(path: Path, content: bytes, *, keep_previous: bool = False) -> None:
    """Write a file beside its place, then rename it, so that it is whole or absent.

    With `keep_previous` an older file of that name becomes `<name>.previous`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if keep_previous and path.exists():
            os.replace(path, path.with_name(f"{path.name}.previous"))
        os.replace(temporary, path)
    except OSError as error:
        # A full disk does not say which file it was.
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
