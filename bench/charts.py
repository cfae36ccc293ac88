"""Bar charts as SVG, without any library: the same data give the same bytes.

They have a title and a description for those who do not see them, a background of their own, and colours for a light and a
dark page. A bar that stands for a loss has a colour and a mark of its own.
"""
import math
from xml.sax.saxutils import escape

WIDTH, LABELS, PLOT, BAR, GAP, TOP = 720, 340, 290, 15, 9, 62
STYLE = """
.page { fill: #ffffff; } .text { fill: #24292f; } .quiet { fill: #57606a; } .line { stroke: #6e7781; } .grid { stroke: #6e7781; stroke-opacity: 0.25; }
.first { fill: #6e7781; } .second { fill: #1f6fbf; } .loss { fill: #b3501e; }
@media (prefers-color-scheme: dark) {
.page { fill: #161b22; } .text { fill: #e6edf3; } .quiet { fill: #a8b3be; } .line { stroke: #8b949e; } .grid { stroke: #8b949e; stroke-opacity: 0.25; }
.first { fill: #8b949e; } .second { fill: #58a6ff; } .loss { fill: #f0883e; }
}
"""


def ticks(low, high, log):
    if log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        return [step * 10.0 ** power for power in powers for step in (1, 2, 5) if low <= step * 10.0 ** power <= high]
    step = 10 ** math.floor(math.log10(high))
    step = next(step * part for part in (0.1, 0.2, 0.5, 1, 2) if high / (step * part) <= 6)
    return [i * step for i in range(int(high / step) + 1)]


def number(value):
    return f"{value:,.10g}"


def bars(title, description, axis, rows, log=False, names=None, one=None):
    """The chart as text. rows: (label, values, texts, losses), one bar for each value; names: what the values are.
    With log, bars begin at the line of one, and those of less than one go to the left."""
    values = [value for row in rows for value in row[1]]
    low, high = (min([*values, 1]) / 1.15, max(values) * 1.15) if log else (0, max(values) * 1.02)

    def x(value):
        share = (math.log(value) - math.log(low)) / (math.log(high) - math.log(low)) if log else value / high
        return LABELS + PLOT * share

    def text(left, top, what, kind="text", anchor="start", size=12):
        return f'<text class="{kind}" x="{left:.1f}" y="{top:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(what)}</text>'

    heights = [len(row[1]) * BAR + GAP for row in rows]
    bottom = TOP + sum(heights) + 2
    body = [text(12, 22, title, size=14)]
    left = LABELS
    for kind, name in zip(("first", "second"), names or ()):
        body += [f'<rect class="{kind}" x="{left}" y="34" width="12" height="12"/>', text(left + 17, 44, name)]
        left += 40 + 7 * len(name)
    if any(loss for row in rows for loss in row[3]):
        body += [f'<rect class="loss" x="{left}" y="34" width="12" height="12"/>', text(left + 17, 44, "slower")]
    for tick in ticks(low, high, log):
        body += [f'<line class="grid" x1="{x(tick):.1f}" y1="{TOP - 6}" x2="{x(tick):.1f}" y2="{bottom}"/>', text(x(tick), bottom + 16, number(tick), "quiet", "middle")]
    start = x(1) if log else LABELS
    top = TOP
    for (label, row, texts, losses), height in zip(rows, heights):
        body.append(text(LABELS - 8, top + (height - GAP) / 2 + 4, label, anchor="end"))
        for i, (value, shown, loss) in enumerate(zip(row, texts, losses)):
            kind = "loss" if loss else "first" if i == 0 and len(row) > 1 else "second"
            from_x, to_x = sorted((start, x(value)))
            body.append(f'<rect class="{kind}" x="{from_x:.1f}" y="{top + i * BAR}" width="{max(to_x - from_x, 1):.1f}" height="{BAR - 2}"/>')
            body.append(text(max(to_x, start) + 5, top + i * BAR + 11, shown + (" (slower)" if loss else "")))
        top += height
    body.append(f'<line class="line" x1="{start:.1f}" y1="{TOP - 6}" x2="{start:.1f}" y2="{bottom}"/>')
    body.append(text(LABELS + PLOT / 2, bottom + 36, axis, "quiet", "middle"))
    height = bottom + 50
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
            f'aria-labelledby="title desc" font-family="system-ui, Helvetica, Arial, sans-serif">\n'
            f'<title id="title">{escape(title)}</title>\n<desc id="desc">{escape(description)}</desc>\n<style>{STYLE}</style>\n'
            f'<rect class="page" width="{WIDTH}" height="{height}"/>\n' + "\n".join(body) + "\n</svg>\n")
