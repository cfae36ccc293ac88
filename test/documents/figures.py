#!/usr/bin/env python3
"""The contrast of the figures of docs/, by the rules of WCAG 2.1, level AA.

    test/documents/figures.py [FILE ...]

A figure has a background of its own, and a style for a dark page: other colours, or a filter that lets light and dark change
places; both are checked. Text has a contrast of at least 4.5 to 1 to what is behind it, and lines, marks and bars have 3 to 1 to the
background. Grid lines and shades, which only help the eye, are translucent and do not count. Every figure has a title and a
description for those who do not see it. The last line is "N passed, N failed".
"""

import pathlib
import re
import sys
import xml.etree.ElementTree

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
SHAPES = [SVG + name for name in ("path", "use", "rect", "circle", "line")]
TEXT, GRAPHICS = 4.5, 3.0


def luminance(colour):
    """The relative luminance of #rrggbb (WCAG 2.1)."""
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def changed_places(colour, share):
    """The colour after invert(share) hue-rotate(180deg) (the Filter Effects Module)."""
    r, g, b = (share + (1 - 2 * share) * int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5))
    turned = (-0.574 * r + 1.43 * g + 0.144 * b, 0.426 * r + 0.43 * g + 0.144 * b, 0.426 * r + 1.43 * g - 0.856 * b)
    return "#" + "".join(f"{round(255 * min(1, max(0, part))):02x}" for part in turned)


def contrast_of(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def sheets(root):
    """The rules by class, {class: {property: value}}, for a light page and, if the figure has others, for a dark one."""
    css = "".join(style.text or "" for style in root.iter(SVG + "style"))
    light, _, dark = css.partition("@media (prefers-color-scheme: dark)")
    found = {}
    for part in filter(None, (light, dark)):
        found = {name: dict(rules) for name, rules in found.items()}
        for name, body in re.findall(r"\.([\w-]+) *{([^}]*)}", part):
            found.setdefault(name, {}).update(re.findall(r"([\w-]+):\s*([^;]+)", body))
        yield found
    if not css:
        yield found


def styled(element, sheet, inherited):
    """Every element below, in the order of drawing, with its style; definitions are seen where they are used."""
    style = dict(inherited)
    style.update({name: element.get(name) for name in ("fill", "stroke", "opacity") if element.get(name)})
    for name in element.get("class", "").split():
        style.update(sheet.get(name, {}))
    style.update(re.findall(r"([\w-]+):\s*([^;]+)", element.get("style", "")))
    yield element, style
    for child in element:
        if child.tag not in (SVG + "defs", SVG + "style"):
            yield from styled(child, sheet, style)


def colour(style, name, default):
    value = style.get(name, default)
    return "#" + "".join(2 * digit for digit in value[1:]) if re.fullmatch(r"#[0-9a-f]{3}", value) else value


def covers(rect, text):
    """True if the anchor of the text is within the rectangle."""
    x, y, width, height, left, top = (float(element.get(name, "nan")) for element, names in ((rect, ("x", "y", "width", "height")), (text, "xy")) for name in names)
    return x <= left <= x + width and y <= top <= y + height


def faults_of(root, sheet, seen_as=lambda colour: colour):
    def contrast(a, b):
        return contrast_of(seen_as(a), seen_as(b))

    background = None
    box = None                                  # the last filled rectangle
    texts = 0
    for element, style in styled(root, sheet, {}):
        fill, stroke = colour(style, "fill", "#000000"), colour(style, "stroke", "none")
        if element.tag == SVG + "line":
            fill = "none"
        translucent = any(float(style.get(name, 1)) < 0.5 for name in ("opacity", "stroke-opacity", "fill-opacity"))
        if element.tag == SVG + "text":
            texts += 1
            behind = box[1] if box and covers(box[0], element) else background
            if behind is not None and contrast(fill, behind) < TEXT:
                yield f"has text of contrast {contrast(fill, behind):.2f}: {''.join(element.itertext()).strip()}"
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
            if element.tag == SVG + "rect" and fill.startswith("#"):
                box = element, fill
    if texts == 0:
        yield "has no text"


def faults(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    for name in ("title", "desc"):
        if len((root.findtext(SVG + name) or "").split()) < 3:
            yield f"has no <{name}> of three words"
    for sheet in sheets(root):
        yield from faults_of(root, sheet)
    dark = "".join(style.text or "" for style in root.iter(SVG + "style")).partition("@media (prefers-color-scheme: dark)")[2]
    if not dark:
        yield "has no style for a dark page"
    share = re.search(r"filter: invert\(([\d.]+)\)", dark)
    if share:
        yield from (f"on a dark page {fault}" for fault in faults_of(root, sheet, lambda colour: changed_places(colour, float(share[1]))))


def main():
    failed = 0
    figures = [pathlib.Path(name) for name in sys.argv[1:]] or sorted(DOCS.glob("**/*.svg"))
    for path in figures:
        found = sorted(set(faults(path)))
        failed += bool(found)
        for fault in found:
            print(f"FAILED {path} {fault}")
    print(f"{len(figures) - failed} passed, {failed} failed")
    return 1 if failed or not figures else 0


if __name__ == "__main__":
    sys.exit(main())
