"""Square tiles of a picture, in NumPy: a cell, and what may be drawn on it.

Tiles are drawn OVERSAMPLING times too large, in floating point, and averaged by `shrink`.
"""

import numpy as np
import numpy.typing as npt

Tile = npt.NDArray[np.float64]
Image = npt.NDArray[np.uint8]

OVERSAMPLING = 4

PAPER = np.array([203.0, 207, 212])
BLOCKED = np.array([58.0, 66, 78])
NEUTRAL = np.array([246.0, 244, 239])
GOOD = np.array([92.0, 168, 156])
BAD = np.array([226.0, 132, 88])
INK = np.array([45.0, 52, 63])
WHITE = np.array([255.0, 255, 255])
AGENT = np.array([38.0, 72, 158])


def cell(size: int, tone: float) -> Tile:
    """A cell of `size` pixels, from bad (-1) over neutral to good (1), with a thin border."""
    towards = GOOD if tone > 0 else BAD
    tile = np.empty((size * OVERSAMPLING, size * OVERSAMPLING, 3))
    tile[:] = NEUTRAL + abs(tone) * (towards - NEUTRAL)
    y, x = _centred(tile)
    tile[np.maximum(abs(y), abs(x)) > 1 - 1.5 / size] = PAPER
    return tile


def blocked(size: int) -> Tile:
    """A cell that is no state."""
    tile = np.empty((size * OVERSAMPLING, size * OVERSAMPLING, 3))
    tile[:] = BLOCKED
    return tile


def flag(tile: Tile) -> Tile:
    """Add a chequered flag: episodes end here."""
    y, x = _centred(tile)
    inside = np.maximum(abs(y), abs(x)) < 0.5
    dark = (np.floor(y * 4) + np.floor(x * 4)) % 2 == 0
    return np.where((inside & dark)[..., None], INK, np.where(inside[..., None], WHITE, tile))


def ring(tile: Tile) -> Tile:
    """Add a ring: episodes start here."""
    y, x = _centred(tile)
    return np.where((abs(np.hypot(y, x) - 0.7) < 0.05)[..., None], AGENT, tile)


def agent(image: Image) -> Image:
    """Put the agent, a disc, on a finished cell."""
    tile = image.repeat(OVERSAMPLING, axis=0).repeat(OVERSAMPLING, axis=1).astype(np.float64)
    y, x = _centred(tile)
    distance = np.hypot(y, x)[..., None]
    return shrink(np.where(distance < 0.48, AGENT, np.where(distance < 0.57, WHITE, tile)))


def shrink(tile: Tile) -> Image:
    """Average the oversampled pixels."""
    size = len(tile) // OVERSAMPLING
    blocks = tile.reshape(size, OVERSAMPLING, size, OVERSAMPLING, 3).mean(axis=(1, 3))
    pixels: Image = np.round(blocks).astype(np.uint8)
    return pixels


def _centred(tile: Tile) -> tuple[Tile, Tile]:
    """Coordinates of a tile's pixels, down and across, with its sides at -1 and 1."""
    line = (np.arange(len(tile)) + 0.5) / len(tile) * 2 - 1
    return line[:, None], line[None, :]
