"""Style, colours and output of the pictures of all sub-commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from robodyn_ros.exceptions import ParameterError

# colours that people with any colour vision can distinguish (Okabe and Ito)
_COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#6A3D9A', '#7F7F7F')
STYLE = {'font.size': 11, 'axes.grid': True, 'grid.alpha': 0.3, 'axes.spines.top': False,
         'axes.spines.right': False, 'axes.titlesize': 12, 'axes.titleweight': 'bold',
         'axes.titlelocation': 'left'}


def check_picture(path: Path) -> None:
    """Raise, before the work for it, if a picture cannot be drawn (as `picture`)."""
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib.backend_bases import FigureCanvasBase

    _check_format(path, FigureCanvasBase.get_supported_filetypes())


def _check_format(path: Path, kinds: Iterable[str]) -> None:
    if path.suffix.lstrip('.') not in kinds:
        raise ParameterError(f'{path}: unknown picture format; choose one of '
                             + ', '.join(f'.{kind}' for kind in kinds))


@contextmanager
def picture(path: Path, rows: int, columns: int, style: Mapping[str, object] = STYLE,
            **options) -> Iterator[tuple]:
    """
    Yield figure and axes of a picture, which is written at the end of the `with` block.

    Raises
    ------
    ImportError
        matplotlib is not installed.
    ParameterError
        matplotlib does not write this file format.

    """
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot

    with pyplot.rc_context(style):
        figure, axes = pyplot.subplots(rows, columns, **options)
        _check_format(path, figure.canvas.get_supported_filetypes())
        yield figure, axes
        figure.savefig(path)
        pyplot.close(figure)


def colour(k: int) -> str:
    """Return the colour with an index; the palette repeats."""
    return _COLOURS[k % len(_COLOURS)]
