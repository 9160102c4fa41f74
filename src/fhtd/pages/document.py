"""One HTML file for every page: styles, scripts, charts and data inside, nothing from elsewhere.

A policy in the head of the page forbids every request, so that a page cannot fetch anything even
by mistake. Text of the user's goes through `escape`, data through `as_json`.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["MEGABYTE", "as_json", "escape", "packed", "page"]

MEGABYTE = 1_000_000
#: What a page may do: run and style itself with what is in it, and show pictures that are in it.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
_KINDS = {"f4": "<f4", "f8": "<f8", "i4": "<i4"}


def page(
    title: str,
    body: str,
    *,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    data: Mapping[str, Any] | None = None,
    charts: Mapping[str, Any] | None = None,
) -> str:
    """A whole page.

    `body` is HTML already; `styles` and `scripts` name files of this package; `data` is read by
    the scripts as `page.data`, and `charts` are Bokeh figures for the elements of those ids.
    """
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        *(f"<style>{_asset(name)}</style>" for name in ("page.css", *styles)),
        f"</head><body>\n{body}\n",
    ]
    if data is not None or charts:
        content = {"data": dict(data or {}), "charts": _chart_items(charts or {})}
        parts.append(f'<script type="application/json" id="content">{as_json(content)}</script>\n')
        if charts:
            parts.append(f"<script>{_bokeh()}</script>\n")
        parts += (f"<script>{_asset(name)}</script>\n" for name in ("page.js", *scripts))
    return "".join([*parts, "</body></html>\n"])


def as_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in; what is not finite is null."""
    text = json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value


def packed(array: npt.ArrayLike, kind: str = "f4") -> dict[str, Any]:
    """An array as base64, little-endian, for `unpack` in page.js; kinds: f4, f8, i4."""
    values = np.ascontiguousarray(array, _KINDS[kind])
    return {
        "kind": kind,
        "shape": list(values.shape),
        "bytes": base64.b64encode(values.tobytes()).decode(),
    }


def _chart_items(charts: Mapping[str, Any]) -> list[Any]:
    if not charts:
        return []
    from bokeh.embed import json_item

    return [json_item(figure, target) for target, figure in charts.items()]


@cache
def _bokeh() -> str:
    """Bokeh's own script, from the installed package."""
    from bokeh.resources import Resources

    script: str = Resources(mode="inline", components=["bokeh"]).js_raw[0]
    return _harmless(script)


@cache
def _asset(name: str) -> str:
    text = (resources.files("fhtd.pages") / "assets" / name).read_text("utf-8")
    return text if name.endswith(".css") else _harmless(text)


def _harmless(script: str) -> str:
    """A script that cannot end its own element."""
    return script.replace("</script", "<\\/script")
