"""Checkpoints taken apart and put together again with a manifest that fits, and hostile ones."""

import hashlib
import io
import json
import struct
import zipfile

import numpy as np

#: What a file claims may be large; the file is not.
HUGE = 10**15


def unpack(content):
    """(manifest without its list of arrays, arrays)."""
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    manifest = json.loads(arrays.pop("manifest").tobytes())
    del manifest["arrays"]
    return manifest, arrays


def pack(manifest, arrays, *, listed=None, members=None, compression=zipfile.ZIP_STORED):
    """A checkpoint whose manifest lists its arrays as they are, or as `listed` says.

    `members` replaces the bytes of single `.npy` files, or adds some.
    """
    files = {name: npy(array) for name, array in arrays.items()}
    if isinstance(manifest, dict):
        manifest = manifest | {"arrays": described(arrays) | (listed or {})}
        manifest = json.dumps(manifest).encode()
    files = {"manifest": npy(np.frombuffer(manifest, np.uint8))} | files | (members or {})
    return zipped([(f"{name}.npy", content) for name, content in files.items()], compression)


def zipped(members, compression=zipfile.ZIP_STORED):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, data in members:
            member = zipfile.ZipInfo(name)
            member.compress_type = compression
            if name in archive.NameToInfo:
                # Python would warn of it.
                del archive.NameToInfo[name]
            archive.writestr(member, data)
    return content.getvalue()


def npy(array, **options):
    content = io.BytesIO()
    np.lib.format.write_array(content, array, **options)
    return content.getvalue()


def npy_claiming(header, data=b""):
    """A `.npy` file with a header of one's own."""
    text = (header if isinstance(header, str) else repr(header)).encode("latin1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def described(arrays):
    return {
        name: {
            "shape": list(array.shape),
            "dtype": array.dtype.str,
            "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
        }
        for name, array in arrays.items()
    }


class Payload:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def hostile_manifests(good):
    """Manifests by name that must be refused, each one change away from a good one."""
    found = {}

    def change(name, **fields):
        found[name] = good | fields

    def setting(name, value):
        found[f"setting {name} {str(value)[:30]}"] = good | {
            "settings": good["settings"] | {name: value}
        }

    def inside(part, name, **fields):
        found[f"{part}: {name}"] = good | {part: good[part] | fields}

    for key in ("format", "kind", "class", "settings", "seed", "loop", "experience", "environment"):
        found[f"without {key}"] = {k: v for k, v in good.items() if k != key}
        if key not in ("environment", "seed"):
            for value in (None, 7, "text", [], {}):
                change(f"{key} {value!r}", **{key: value})
    for part in ("loop", "experience"):
        for key in good[part]:
            kept = {k: v for k, v in good[part].items() if k != key}
            found[f"{part} without {key}"] = good | {part: kept}
    for value in (0, 1, 2, 4, -1, "2", None, True, 1.0, 2.0, [2], HUGE, float("nan")):
        change(f"format {value!r}", format=value)
    for value in ("Object", "DQN ", "", None, 7, ["DFHQ"], {}, "Agent", "DFHTD"):
        change(f"class {value!r}", **{"class": value})
    for part, key in (
        ("", "seed"),
        ("loop", "frames"),
        ("loop", "episodes"),
        ("experience", "count"),
    ):
        for value in (-1, 1.5, "12", None, True, float("nan"), float("inf"), [1], {}, 10**4000):
            if part:
                inside(part, f"{key} {str(value)[:20]}", **{key: value})
            elif value != 10**4000:
                change(f"{key} {str(value)[:20]}", **{key: value})
    inside("experience", "more than frames", count=good["loop"]["frames"] + 1)
    for value in ([], [1], [-1], [0, 0], ["0"], [None], 0, "0", None, {"0": 0}, [0.5], [[0]]):
        inside("experience", f"windows {value!r}", windows=value)
    (stream,) = good["loop"]["streams"]
    for value in ([], [stream] * 2, [None], [7], 0, "0", None, {"0": 0}, [{}], [[stream]]):
        inside("loop", f"streams {value!r}", streams=value)
    for key in stream:
        for value in (-1, 0.5, "0", [0], HUGE if key == "length" else -HUGE):
            inside("loop", f"stream's {key} {value!r}", streams=[stream | {key: value}])
    for value in (
        None,
        7,
        "",
        "Nonsense-v0",
        "Acrobot-v1",
        "hostile_module:CartPole-v1",
        "../CartPole-v1",
        "os:CartPole-v1",
        {"id": "CartPole-v1"},
        ["CartPole-v1"],
        "x" * 10_000,
    ):
        change(f"environment {str(value)[:30]}", environment=value)
    for value in ([], [1], [1, 2, 3], "ab", 1, {"a": 1}, [-1, 1], [1, 99], [1, "1"], ["1", 1]):
        change(f"divergence {value!r}", divergence=value)
    generator = good["loop"]["generator"]
    state = generator["state"]
    for name, value in {
        "another kind": np.random.MT19937(0).state | {"state": {"key": [1] * 624, "pos": 3}},
        "Philox": {"bit_generator": "Philox"},
        "an unknown kind": generator | {"bit_generator": "os.system"},
        "a list": [generator],
        "nothing": None,
        "a number": 5,
        "empty": {},
        "no state": {k: v for k, v in generator.items() if k != "state"},
        "text": generator | {"state": "text"},
        "text inside": generator | {"state": state | {"state": "12"}},
        "negative": generator | {"state": state | {"state": -1}},
        "fraction": generator | {"state": state | {"state": 1.5}},
        "not a number": generator | {"state": state | {"inc": float("nan")}},
        "infinite": generator | {"state": state | {"inc": float("inf")}},
        "too large": generator | {"state": state | {"state": 2**128}},
        "far too large": generator | {"state": state | {"inc": 10**4000}},
        "wrong flag": generator | {"has_uint32": "yes"},
        "large remainder": generator | {"uinteger": 2**32},
        "more than asked": generator | {"extra": 1},
    }.items():
        inside("loop", f"generator: {name}", generator=value)
    settings = good["settings"]
    change("settings as a list", settings=list(settings))
    change("settings as text", settings="settings")
    change("no settings", settings=None)
    change("unknown setting", settings=settings | {"colour": 1})
    change("missing setting", settings={k: v for k, v in settings.items() if k != "hidden"})
    for value in (
        [10**9],
        [5 * 10**6],
        [10**5, 10**5],
        [10**30],
        [1] * 50_000,
        [0],
        [-8],
        ["8"],
        [],
        "8",
        8,
        None,
    ):
        setting("hidden", value)
    for value in (10**9, HUGE, 5, 0, "4", None, 4.0):
        setting("horizon", value)
    for value in (HUGE, 10**30, 0, -200, "200", None, 1.5):
        setting("replay_size", value)
    for value in (2, 10**6, HUGE, 0, "1", None):
        setting("n_envs", value)
    for value in (2, 4, 5, HUGE, 0, "1", None):
        setting("n_step", value)
    for value in ([4], [1, 2, 3], [1, 2, 3, HUGE], list(range(1, 50_000)), "4", 4, [1.5], [True]):
        setting("horizons", value)
    for name in (
        "discount",
        "learning_rate",
        "epsilon_initial",
        "epsilon_final",
        "divergence_limit",
    ):
        for value in (float("nan"), float("inf"), -1, "1", None, [1.0], True):
            setting(name, value)
    for name in (
        "batch_size",
        "learning_starts",
        "train_freq",
        "gradient_steps",
        "target_update_interval",
        "epsilon_frames",
    ):
        for value in (0, -1, 1.5, "1", None, [1], float("nan")):
            setting(name, value)
    setting("target_update_interval", HUGE)
    setting("target_update_interval", 100)
    for name in ("unshared", "double"):
        for value in (1, "yes", None, [True]):
            setting(name, value)
    setting("unshared", True)
    for name in ("initialisation", "optimiser", "on_divergence"):
        for value in ("", "__import__('os')", None, 3, ["glorot"]):
            setting(name, value)
    setting("optimiser", "rmsprop-centred")
    for value in ("best", 0, 5, HUGE, [1.0], [1.0, 2.0, 3.0, float("nan")], True, None, "4", {}):
        setting("acting", value)
    for name in ("loss_weights", "max_grad_norm", "max_episode_frames"):
        for value in (0, -1, "1", [0.0] * 4, [float("nan")] * 4, [1.0], True):
            setting(name, value)
    return found


def hostile_bytes(good, canary):
    """Whole files by name: damaged archives, and ones that would run code or eat memory."""
    manifest, arrays = unpack(good)
    files = {}
    bare = json.dumps(manifest | {"arrays": described(arrays)}).encode()
    nested = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    for name, text in {
        "not JSON": b"{",
        "empty": b"",
        "a number": b"2",
        "text": b'"manifest"',
        "a list": b"[]",
        "null": b"null",
        "deeply nested": nested,
        "deep lists": b"[" * 200_000 + b"]" * 200_000,
        "nested within": bare[:-1] + b', "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "too large": bare + b" " * 2**20,
        "bytes": bytes(range(256)),
        "not UTF-8": b'{"format": "\xff\xfe"}',
        "a number of a million digits": b'{"format": ' + b"9" * 10**6 + b"}",
        "Python, not JSON": b"{'format': __import__('os').getpid()}",
    }.items():
        files[f"manifest is {name}"] = pack(text, arrays)
    files["manifest of another dtype"] = pack(
        manifest, arrays, members={"manifest": npy(np.zeros(3, "<f8"))}
    )
    first = next(iter(arrays))
    weights = arrays["state_0"]
    one = described({"state_0": weights})["state_0"]
    for name, listed in {
        "another shape": {"state_0": one | {"shape": [weights.size]}},
        "another dtype": {"state_0": one | {"dtype": "<i4"}},
        "another digest": {"state_0": one | {"sha256": "0" * 64}},
        "no digest": {"state_0": {"shape": one["shape"], "dtype": one["dtype"]}},
        "nothing of one": {"state_0": None},
        "one that is not there": {"state_999": one},
        "one outside": {"../../state_0": one},
    }.items():
        files[f"manifest lists {name}"] = pack(manifest, arrays, listed=listed)
    as_list = json.dumps(manifest | {"arrays": list(described(arrays))}).encode()
    files["manifest lists names only"] = pack(as_list, arrays)
    files["manifest lists nothing"] = pack(json.dumps(manifest).encode(), arrays)

    pickled = npy(np.array([Payload(canary)], object), allow_pickle=True)
    files["pickled array"] = pack(manifest, arrays, members={"state_0": pickled})
    files["pickled manifest"] = pack(manifest, arrays, members={"manifest": pickled})
    files["pickled stranger"] = pack(manifest, arrays, members={"stranger": pickled})
    zeros = npy(np.zeros(2**23, np.uint8))
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        files[f"compressed {compression}"] = pack(manifest, arrays, compression=compression)
        files[f"bomb {compression}"] = pack(
            manifest, arrays, members={"state_0": zeros}, compression=compression
        )
    with_all = [("manifest.npy", npy(np.frombuffer(bare, np.uint8)))]
    with_all += [(f"{name}.npy", npy(array)) for name, array in arrays.items()]
    files["an array twice"] = zipped([*with_all, (f"{first}.npy", npy(arrays[first]))])
    files["the manifest twice"] = zipped([*with_all, with_all[0]])
    for name in ("/tmp/stranger.npy", "../stranger.npy", "..\\stranger.npy", "", "a/", "state_0"):
        files[f"member {name!r}"] = zipped([*with_all, (name, b"")])
    files["no manifest"] = zipped(with_all[1:])
    files["manifest without .npy"] = zipped([("manifest", bare), *with_all[1:]])
    files["no members"] = zipped([])
    files["no arrays"] = zipped(with_all[:1])
    files["empty file"] = b""
    files["plain text"] = b"weights: none\n" * 100
    files["pickle"] = b"\x80\x04cbuiltins\nopen\n."
    files["gzip"] = b"\x1f\x8b" + b"\0" * 100
    files["npy, not npz"] = npy(weights)
    files["half of it twice"] = good[: len(good) // 2] * 2

    shape = weights.shape
    plain = {"descr": "<f4", "fortran_order": False, "shape": shape}
    data = weights.tobytes()
    for name, header in {
        "huge shape": plain | {"shape": (HUGE,)},
        "overflowing shape": plain | {"shape": (2**32, 2**32)},
        "large shape": plain | {"shape": (2**31,)},
        "negative shape": plain | {"shape": (-1,)},
        "shape of floats": plain | {"shape": (1.0,)},
        "more dimensions than NumPy has": plain | {"shape": (1,) * 500},
        "no size": plain | {"descr": "|V0", "shape": (HUGE,)},
        "objects": plain | {"descr": "|O"},
        "objects inside": plain | {"descr": [("a", "<f4"), ("b", "|O")]},
        "records": plain | {"descr": [("a", "<f2"), ("b", "<f2")]},
        "sub-arrays": plain | {"descr": ("<f4", (1,))},
        "dates": plain | {"descr": "<M8[s]"},
        "text": plain | {"descr": "<U1"},
        "unknown dtype": plain | {"descr": "<z9"},
        "dtype as a number": plain | {"descr": 4},
        "order as a number": plain | {"fortran_order": 0},
        "missing key": {"descr": "<f4", "shape": shape},
        "extra key": plain | {"x": 1},
        "a list": [1, 2],
        "not Python": "{'descr': ",
        "a call": "open('hostile', 'w')",
        "open brackets": "(" * 5000,
        "many minus signs": "-" * 9000 + "1",
        "unclosed string": "{'descr': '''",
        "too long": repr(plain) + " " * 20_000,
    }.items():
        claimed = isinstance(header, dict) and {"shape": list(header["shape"])}
        listed = {"state_0": one | claimed} if claimed else None
        files[f"header: {name}"] = pack(
            manifest, arrays, members={"state_0": npy_claiming(header, data)}, listed=listed
        )
    files["header: cut off"] = pack(manifest, arrays, members={"state_0": npy(weights)[:20]})
    files["header: version 9"] = pack(
        manifest, arrays, members={"state_0": b"\x93NUMPY\x09\x00" + npy(weights)[8:]}
    )
    files["data: cut off"] = pack(manifest, arrays, members={"state_0": npy(weights)[:-1]})
    files["data: more than there should be"] = pack(
        manifest, arrays, members={"state_0": npy(weights) + b"\0"}
    )
    return files | _altered_arrays(manifest, arrays) | _forged_archives(good)


def _altered_arrays(manifest, arrays):
    """Arrays that are not the agent's, under a manifest that describes them rightly."""
    files = {}

    def alter(name, changed):
        files[f"array: {name}"] = pack(
            manifest, {k: v for k, v in changed.items() if v is not None}
        )

    for name, array in arrays.items():
        for dtype in (">f4", "<f8", "<f2", "<i8", "<u2", "|b1", "<c8", ">f8", ">i4"):
            if np.dtype(dtype) != array.dtype and (
                dtype in (">f4", "<f2")
                or name in ("state_0", "experience_rows", "weighting_rewards")
            ):
                with np.errstate(all="ignore"):
                    alter(f"{name} as {dtype}", arrays | {name: _cast(array, dtype)})
        alter(f"{name} is missing", arrays | {name: None})
        alter(f"{name} with one more axis", arrays | {name: array[None]})
        if array.ndim:
            alter(f"{name} one shorter", arrays | {name: array[1:]})
            alter(f"{name} one longer", arrays | {name: np.concatenate([array, array[:1]])})
            alter(f"{name} empty", arrays | {name: array[:0]})
            alter(f"{name} wide and empty", arrays | {name: np.zeros((0, HUGE), array.dtype)})
        if array.ndim > 1 and len(set(array.shape)) > 1:
            alter(f"{name} transposed", arrays | {name: np.ascontiguousarray(array.T)})
            fortran = npy(np.asfortranarray(array))
            files[f"array: {name} in Fortran's order"] = pack(
                manifest, arrays, members={name: fortran}
            )
    alter("one more state", arrays | {"state_99": np.zeros(2, np.float32)})
    alter("one more", arrays | {"stranger": np.zeros(2, np.float32)})
    alter("a name like a path", arrays | {"../state_0": np.zeros(2, np.float32)})
    alter("one more of the loop", arrays | {"loop_stranger": np.zeros(2, np.float32)})
    alter("one more of experience", arrays | {"experience_stranger": np.zeros(2, np.float32)})
    alter("an image", arrays | {"experience_images": np.zeros((2, 2), np.uint8)})
    rows = arrays["experience_rows"]
    for name, column, value in (
        ("an action that does not exist", 4, 2),
        ("an action below 0", 4, -1),
        ("half an action", 4, 0.5),
        ("an action that is no number", 4, np.nan),
        ("half a termination", 10, 0.5),
        ("a mask of 7", 11, 7),
        ("no length", 13, 0),
        ("a length of 2", 13, 2),
        ("an infinite length", 13, np.inf),
    ):
        changed = rows.copy()
        changed[3, column] = value
        alter(name, arrays | {"experience_rows": changed})
    long = np.ones(50_000)
    alter(
        "a weighting of 50,000 horizons",
        arrays | {"weighting_rewards": long, "weighting_bootstraps": long},
    )
    for value in (np.nan, np.inf, -np.inf):
        changed = arrays["weighting_bootstraps"].copy()
        changed[0] = value
        alter(f"a weighting with {value}", arrays | {"weighting_bootstraps": changed})
    complicated = arrays["weighting_rewards"] * (1 + 1j)
    alter("a complex weighting", arrays | {"weighting_rewards": complicated})
    settings = manifest["settings"]
    for name, n, length in (
        ("DQN of many steps", 10**9, None),
        ("many steps", 12_000, 12_000),
        ("more steps", 50_000, 50_000),
    ):
        # Each part fits the others; it is the tables of n steps that would be enormous.
        changed = dict(arrays)
        for which in ("weighting_rewards", "weighting_bootstraps"):
            if length is None:
                del changed[which]
            else:
                changed[which] = np.ones(length)
        changed["experience_rows"] = np.zeros((0, 13 + n), np.float32)
        found = manifest | {
            "class": "DFHQ" if length else "DQN",
            "replayed": 0,
            "settings": settings | {"n_step": n, "horizon": length or 64},
        }
        files[f"array: {name}"] = pack(found, changed)
    without = {k: v for k, v in arrays.items() if not k.startswith("weighting")}
    files["array: no weighting, huge horizon"] = pack(
        manifest | {"settings": settings | {"horizon": 10**9}}, without
    )
    crowd = manifest | {"counts": [0] * 100_000, "settings": settings | {"n_envs": 100_000}}
    files["array: a crowd of environments"] = pack(crowd, arrays)
    return files


def _cast(array, dtype):
    return np.nan_to_num(array).astype(dtype)


def _forged_archives(good):
    """The archive's own directory tells lies."""
    files = {}
    entry, local = good.index(b"PK\x01\x02"), good.index(b"PK\x03\x04")
    for name, offset, layout, value in (
        ("encrypted", entry + 8, "<H", 1),
        ("method 99", entry + 10, "<H", 99),
        ("compressed size of 4 GB", entry + 20, "<I", 2**32 - 2),
        ("size of 4 GB", entry + 24, "<I", 2**32 - 2),
        ("name of 60,000 letters", entry + 28, "<H", 60_000),
        ("start beyond the end", entry + 42, "<I", 2**31),
        ("local name of another length", local + 26, "<H", 3),
        ("checksum", entry + 16, "<I", 12345),
        ("version 99", entry + 6, "<H", 99),
    ):
        forged = bytearray(good)
        forged[offset : offset + struct.calcsize(layout)] = struct.pack(layout, value)
        files[f"archive: {name}"] = bytes(forged)
    both = bytearray(good)
    for place in (entry + 20, entry + 24):
        both[place : place + 4] = struct.pack("<I", 2**32 - 2)
    files["archive: both sizes of 4 GB"] = bytes(both)
    files["archive: one array under many names"] = _overlapping()
    return files


def _overlapping():
    """Every entry of the directory points at the same large member."""
    large = zipped([("state_0.npy", npy(np.zeros(2**20, np.uint8)))])
    start = large.index(b"PK\x01\x02")
    body, entry = large[:start], large[start : large.index(b"PK\x05\x06")]
    entries = [entry.replace(b"state_0.npy", f"state{i:02d}.npy".encode()) for i in range(99)]
    directory = b"".join(entries)
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 99, 99, len(directory), len(body), 0)
    return body + directory + end


def damaged(good, count, seed):
    """Random truncations, and flips of one to five bytes."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        content = bytearray(good)
        if i % 3 == 0:
            content = content[: int(rng.integers(len(good)))]
        else:
            for place in rng.integers(len(good), size=1 + i % 5):
                content[place] ^= int(rng.integers(1, 256))
        yield bytes(content)
