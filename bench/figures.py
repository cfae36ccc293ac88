"""The style of all figures of docs/.

No background and colours of medium brightness, to be readable on white and on black. The same data give the same file.
"""
import matplotlib
matplotlib.use('svg')
import matplotlib.pyplot as plt

GREY = '#808080'
BLUE, ORANGE, GREEN, RED, PURPLE, CYAN = '#3d8fe0', '#d97a1a', '#2f9e58', '#d9534f', '#9a6fd0', '#1aa3a3'
plt.rcParams.update({
    'svg.fonttype': 'none', 'svg.hashsalt': 'bloomx', 'savefig.transparent': True, 'figure.figsize': (7.2, 4.2),
    'font.family': 'sans-serif', 'font.sans-serif': ['DejaVu Sans', 'Helvetica', 'Arial'], 'font.size': 11,
    'text.color': GREY, 'axes.labelcolor': GREY, 'axes.edgecolor': GREY, 'axes.titlecolor': GREY,
    'xtick.color': GREY, 'ytick.color': GREY, 'legend.labelcolor': GREY, 'legend.frameon': False, 'legend.fontsize': 10,
    'axes.spines.top': False, 'axes.spines.right': False, 'grid.color': GREY, 'grid.alpha': 0.25, 'axes.grid': True,
    'axes.axisbelow': True, 'lines.linewidth': 1.6, 'lines.markersize': 5,
})


def save(figure, directory, name):
    figure.tight_layout()
    figure.savefig(f'{directory}/{name}.svg', metadata={'Date': None, 'Creator': None})
    plt.close(figure)
