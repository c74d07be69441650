"""The figure of a run: times of calls, and their growth with the number of joints."""
import matplotlib

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402
from matplotlib.ticker import FuncFormatter  # noqa: E402
import numpy as np  # noqa: E402
from timing import OURS  # noqa: E402

COLORS = {OURS: 'tab:blue', 'Pinocchio': 'tab:orange', 'MuJoCo': 'tab:green', 'Drake': 'tab:red'}
CURVES = {'inverse dynamics': 'black', 'mass matrix': 'tab:purple',
          'forward dynamics': 'tab:brown'}


def draw(results, path):
    """Write the figure."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 6.5), layout='constrained',
                                            width_ratios=(1.25, 1))
    _bars(left, results)
    _curves(right, results.of('scaling'))
    figure.suptitle(results.machine['processor'] + ', Python ' + results.machine['Python'],
                    fontsize=9)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _bars(axes, results):
    robot = results.of('call')[0].robot
    rows = [row for row in results.of('call') if row.robot == robot]
    quantities = list(dict.fromkeys(row.quantity for row in rows))[::-1]
    libraries = list(dict.fromkeys(row.library for row in rows))
    height = 0.8 / len(libraries)
    for k, library in enumerate(libraries):
        own = [row for row in rows if row.library == library]
        y = [quantities.index(row.quantity) + 0.4 - (k + 0.5) * height for row in own]
        low, middle, high = np.array([row.time for row in own]).T
        axes.barh(y, middle, height, color=COLORS[library], label=library,
                  xerr=(middle - low, high - middle), error_kw={'linewidth': 0.7})
        for place, row in zip(y, own):
            text = f'{row.time[1]:.2f}' if library == OURS else f'{row.ratio[1]:.1f} x'
            axes.annotate(text, (row.time[2], place), (4, 0), textcoords='offset points',
                          va='center', fontsize=7)
    axes.set_yticks(range(len(quantities)), quantities)
    axes.set_xscale('log')
    axes.margins(x=0.12, y=0.01)
    axes.set_xlabel('us per call from Python (median, quartiles); x: times ours')
    axes.set_title(f'{robot}, {rows[0].joints} joints')
    _finish(axes, 'x')


def _curves(axes, rows):
    for quantity, color in CURVES.items():
        for library, style in ((OURS, '-o'), ('Pinocchio', '--s')):
            some = [row for row in rows if (row.quantity, row.library) == (quantity, library)]
            if some:
                axes.plot([row.joints for row in some], [row.time[1] for row in some], style,
                          color=color, markersize=4, label=f'{quantity}, {library}')
    axes.set_xscale('log')
    axes.set_yscale('log')
    sizes = sorted({row.joints for row in rows})
    axes.set_xticks(sizes, list(map(str, sizes)), fontsize=8)
    axes.minorticks_off()
    axes.set_xlabel('joints of a chain')
    axes.set_ylabel('us per call')
    axes.set_title('growth with the number of joints')
    _finish(axes, 'y')


def _finish(axes, direction):
    getattr(axes, f'{direction}axis').set_major_formatter(
        FuncFormatter(lambda value, _: f'{value:g}'))
    axes.grid(axis='both' if direction == 'y' else 'x', alpha=0.3)
    axes.legend(fontsize=8)
