"""The style of the figures of docs/internals/theory.

Figures bring their own white background, so that their contrast does not depend on the page's: text has 12:1, lines at
least 3:1 (WCAG AA). Every figure has a title, and every axis a name and a unit. The same data give the same file.
"""
import pathlib
import re
from xml.sax.saxutils import escape

import matplotlib
matplotlib.use('svg')
import matplotlib.pyplot as plt

TEXT, GREY = '#333333', '#767676'
BLUE, ORANGE, GREEN, RED, PURPLE, CYAN = '#2a78c8', '#c2640c', '#2a8f50', '#c9403c', '#8a5cc7', '#138a8a'
plt.rcParams.update({
    'svg.fonttype': 'none', 'svg.hashsalt': 'bloomx', 'figure.facecolor': 'white', 'figure.figsize': (7.2, 4.2),
    'font.family': 'sans-serif', 'font.sans-serif': ['DejaVu Sans', 'Helvetica', 'Arial'], 'font.size': 11,
    'text.color': TEXT, 'axes.labelcolor': TEXT, 'axes.edgecolor': GREY, 'axes.titlecolor': TEXT, 'axes.titlesize': 11, 'figure.titlesize': 12,
    'xtick.color': TEXT, 'ytick.color': TEXT, 'legend.labelcolor': TEXT, 'legend.frameon': False, 'legend.fontsize': 10,
    'axes.spines.top': False, 'axes.spines.right': False, 'grid.color': GREY, 'grid.alpha': 0.25, 'axes.grid': True,
    'axes.axisbelow': True, 'lines.linewidth': 1.6, 'lines.markersize': 5,
})

# Light and dark change places, colours stay.
ON_A_DARK_PAGE = '@media (prefers-color-scheme: dark) {#figure_1 {filter: invert(0.92) hue-rotate(180deg)}}'


def check(figure, name):
    """A title, and a name for every axis that has numbers; panels side by side may share one."""
    titles = [axis.get_title() for axis in figure.axes] + [figure._suptitle.get_text() if figure._suptitle else '']
    if not any(titles):
        raise ValueError(f'{name} has no title')
    for axis in figure.axes:
        place = axis.get_subplotspec()
        numbers = not any(label.get_text()[:1].isalpha() for label in axis.get_yticklabels())
        if place.is_last_row() and not axis.get_xlabel() or numbers and place.is_first_col() and not axis.get_ylabel():
            raise ValueError(f'{name} has an axis without a name')


def save(figure, directory, name, legend=0):
    """Writes the figure; a share of its height is left for a legend below it."""
    check(figure, name)
    figure.tight_layout(rect=(0, legend, 1, 1))
    path = pathlib.Path(directory) / f'{name}.svg'
    figure.savefig(path, metadata={'Date': None, 'Creator': None})
    path.write_text(described(path.read_text(encoding='utf-8'), figure), encoding='utf-8')
    plt.close(figure)


def described(svg, figure):
    """With a title and a description, for those who do not see the figure."""
    titles = [figure._suptitle.get_text() if figure._suptitle else '', *(axis.get_title() for axis in figure.axes)]
    titles = [' '.join(title.split()) for title in titles if title]
    axes = sorted({' '.join(label.split()) for axis in figure.axes for label in (axis.get_xlabel(), axis.get_ylabel()) if label})
    lines = dict.fromkeys(label for axis in figure.axes for label in axis.get_legend_handles_labels()[1])
    texts = [('Panels: ', titles[1:]), ('Axes: ', axes), ('Series: ', lines)]
    description = ' '.join(f'{name}{", ".join(text)}.' for name, text in texts if text)
    head = f'<title id="title">{escape(titles[0])}</title>\n <desc id="desc">{escape(description)}</desc>'
    svg = re.sub(r'<svg [^>]*?(?=>)', lambda tag: f'{tag[0]} role="img" aria-labelledby="title desc"', svg, count=1)
    return svg.replace('<metadata>', f'{head}\n <metadata>', 1).replace('</style>', f' {ON_A_DARK_PAGE}</style>', 1)
