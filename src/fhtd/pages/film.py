"""Pictures of an episode, small enough to be part of a page."""

import base64
import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Width and quality as shares of what was asked for, tried in turn where a page would be too large.
_SMALLER = ((0.8, 0.8), (0.65, 0.65), (0.5, 0.5), (0.4, 0.35), (0.3, 0.25))


@dataclass
class Film:
    """Frames as WebP, encoded as they come, since raw ones would fill the memory."""

    width: int
    quality: int
    frames: list[bytes] = field(default_factory=list)
    #: What was done to make them fit, for the reader of the page.
    note: str = ""
    #: Every so many frames are kept.
    every: int = 1

    def add(self, frame: Any) -> None:
        """Keep a picture that an environment has rendered as `rgb_array`."""
        from PIL import Image

        pixels = np.asarray(frame)
        if frame is None or pixels.ndim != 3 or pixels.shape[2] != 3:
            raise ValueError(
                "environment must render rgb_array pictures to be watched: "
                'make it with render_mode="rgb_array"'
            )
        picture = Image.fromarray(np.ascontiguousarray(pixels, np.uint8))
        self.frames.append(_encode(picture, self.width, self.quality))

    def thin(self, every: int) -> None:
        """Keep one frame in so many."""
        self.frames, self.every = self.frames[::every], self.every * every

    def fit(self, size: int) -> None:
        """Make all frames together at most so many bytes as base64, and note how."""
        from PIL import Image

        if self._size(self.frames) <= size:
            return
        originals = self.frames
        for share_width, share_quality in _SMALLER:
            width, quality = round(self.width * share_width), round(self.quality * share_quality)
            self.frames = [
                _encode(Image.open(io.BytesIO(frame)), width, quality) for frame in originals
            ]
            self.note = f"Pictures were made smaller, {width} pixels wide at quality {quality}"
            if self._size(self.frames) <= size:
                self.note += ", to keep the page small."
                return
        share = -(-self._size(self.frames) // max(size, 1))
        self.thin(min(share, len(self.frames)))
        self.note += f", and only one in {self.every} kept, to keep the page small."

    def encoded(self) -> list[str]:
        """The frames as base64."""
        return [base64.b64encode(frame).decode() for frame in self.frames]

    @staticmethod
    def _size(frames: list[bytes]) -> int:
        return sum(len(frame) for frame in frames) * 4 // 3 + 8 * len(frames)


def _encode(picture: Any, width: int, quality: int) -> bytes:
    if picture.width > width:
        height = max(1, round(picture.height * width / picture.width))
        picture = picture.resize((width, height))
    content = io.BytesIO()
    picture.save(content, "WEBP", quality=quality, method=1)
    return content.getvalue()
