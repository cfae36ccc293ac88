#!/usr/bin/env python3
"""The contrast of the figures of docs/, by the rules of WCAG 2.1, level AA.

    test/figures.py [FILE ...]

A figure has a background of its own, so it looks the same on a light and on a dark page. On it text has a contrast of at
least 4.5 to 1, and lines, marks and bars have 3 to 1. Grid lines and shades, which only help the eye, are translucent and
do not count. Checks the figures that the benchmarks draw; the last line is "N passed, N failed".
"""

import pathlib
import re
import sys
import xml.etree.ElementTree

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
SVG = "{http://www.w3.org/2000/svg}"
SHAPES = [SVG + name for name in ("path", "use", "rect", "circle")]
TEXT, GRAPHICS = 4.5, 3.0


def luminance(colour):
    """The relative luminance of #rrggbb (WCAG 2.1)."""
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def styled(element, inherited):
    """Every element below, in the order of drawing, with its style; definitions are seen where they are used."""
    style = dict(inherited)
    style.update({name: element.get(name) for name in ("fill", "stroke", "opacity") if element.get(name)})
    style.update(re.findall(r"([\w-]+):\s*([^;]+)", element.get("style", "")))
    yield element, style
    for child in element:
        if child.tag != SVG + "defs":
            yield from styled(child, style)


def colour(style, name, default):
    value = style.get(name, default)
    return "#" + "".join(2 * digit for digit in value[1:]) if re.fullmatch(r"#[0-9a-f]{3}", value) else value


def faults(path):
    background = None
    texts = 0
    for element, style in styled(xml.etree.ElementTree.parse(path).getroot(), {}):
        fill, stroke = colour(style, "fill", "#000000"), colour(style, "stroke", "none")
        translucent = any(float(style.get(name, 1)) < 0.5 for name in ("opacity", "stroke-opacity", "fill-opacity"))
        if element.tag == SVG + "text":
            texts += 1
            if background is not None and contrast(fill, background) < TEXT:
                yield f"has text of contrast {contrast(fill, background):.2f}: {''.join(element.itertext()).strip()}"
        elif element.tag in SHAPES and background is None:
            background = fill                   # the first shape is the page
            if not fill.startswith("#"):
                yield "has no background of its own"
                return
        elif element.tag in SHAPES and not translucent:
            # a shape is seen by its line or by its area
            seen = [contrast(c, background) for c in (fill, stroke) if c.startswith("#") and c != background]
            if seen and max(seen) < GRAPHICS:
                yield f"has a shape of contrast {max(seen):.2f}"
    if texts == 0:
        yield "has no text"


def main():
    failed = 0
    figures = [pathlib.Path(name) for name in sys.argv[1:]] or sorted(DOCS.glob("*/*.svg"))
    for path in figures:
        found = sorted(set(faults(path)))
        failed += bool(found)
        for fault in found:
            print(f"FAILED {path} {fault}")
    print(f"{len(figures) - failed} passed, {failed} failed")
    return 1 if failed or not figures else 0


if __name__ == "__main__":
    sys.exit(main())
