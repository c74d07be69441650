"""All figures of a run, and their output as JSON, CSV and tables."""
import csv
from dataclasses import dataclass
from itertools import groupby
import json

from timing import OURS

GROUPS = {
    'call': 'one call from Python, in us',
    'batch': 'many states, in us per state; 10,000 in one call of ours, in a loop of theirs',
    'simulation': 'simulation of our arm, in us per step',
    'closed loop': 'control cycle and simulation in one loop, in us per step',
    'scaling': 'one call for chains of joints, in us'}
LABEL = 43  # width of the first column
QUARTILES = ('lower quartile', 'median', 'upper quartile')


@dataclass
class Results:
    """
    Figures of a run.

    Attributes
    ----------
    machine : dict of str to str
        See `machine_record`.
    rows : list of timing.Row
    starts : list of start.Start
    processes : dict of str to (float, float, float)
        See `start.measure_processes`.
    missing : list of str
        Packages that are not installed.

    """

    machine: dict
    rows: list
    starts: list
    processes: dict
    missing: list

    def of(self, group):
        """Return the rows of a group."""
        return [row for row in self.rows if row.group == group]

    def json(self):
        """Return the figures as JSON."""
        return json.dumps({
            'machine': self.machine, 'us': [row._asdict() for row in self.rows],
            'start_ms': [row._asdict() for row in self.starts],
            'process_ms': self.processes}, indent=2)

    def write_csv(self, path):
        """Write the figures as CSV, after lines about the machine that begin with #."""
        with open(path, 'w', newline='', encoding='utf-8') as stream:
            stream.writelines(f'# {name}: {value}\n' for name, value in self.machine.items())
            writer = csv.writer(stream, lineterminator='\n')
            writer.writerow(['group', 'robot', 'joints', 'quantity', 'library', 'unit',
                             *QUARTILES, *(f'{name} of ratios' for name in QUARTILES), 'rounds'])
            for row in self.rows:
                writer.writerow([row.group, row.robot, row.joints, row.quantity, row.library,
                                 'us', *map(_short, row.time), *map(_short, row.ratio),
                                 row.rounds])
            for row in self.starts:
                for way in ('compiled', 'cached') if row.compiled else ():
                    writer.writerow(['start', row.robot, row.joints, row.what,
                                     f'{OURS}, {way}', 'ms', *map(_short, getattr(row, way)),
                                     *4 * ['']])
            for way, times in self.processes.items():
                writer.writerow(['process', 'robodyn7', 7, 'first torque', way, 'ms',
                                 *map(_short, times), *4 * ['']])

    def text(self):
        """Return the tables."""
        parts = [_machine(self.machine), 'median (quartiles); x: times ours']
        parts += [*_tables(self), _starts(self.starts), _processes(self.processes)]
        if self.missing:
            parts.append(f'not compared, because not installed: {", ".join(self.missing)}')
        return '\n\n'.join(parts)


def _machine(machine):
    return '\n'.join(f'{name + ":":21}{value}' for name, value in machine.items())


def _tables(results):
    """Return the tables of comparisons, each with its title."""
    for group, title in GROUPS.items():
        rows = results.of(group)
        if group == 'scaling':
            # one table, by quantity
            order = [row.quantity for row in rows]
            rows.sort(key=lambda row: order.index(row.quantity))
            rows = [row._replace(quantity=f'{row.quantity}, {row.joints} joints', robot='a chain',
                                 joints='') for row in rows]
        blocks = [_block(' '.join([robot, joints and f'with {joints} joints']), list(some))
                  for (robot, joints), some in groupby(rows, lambda row: (row.robot, row.joints))]
        if blocks:
            yield '\n\n'.join([title, *blocks])


def _block(title, rows):
    """Return the table of one robot."""
    libraries = list(dict.fromkeys(row.library for row in rows if row.library != OURS))
    lines = [f'{title:{LABEL}}{OURS:>20}'
             + ''.join(f'{library:>11}{"x":>8}{"":13}' for library in libraries)]
    for quantity, several in groupby(rows, lambda row: row.quantity):
        by_library = {row.library: row for row in several}
        lines.append(f'{quantity:{LABEL}}{_spread(by_library[OURS].time):>20}' + ''.join(
            _peer(by_library.get(library)) for library in libraries))
    return '\n'.join(line.rstrip() for line in lines)


def _peer(row):
    """Return the columns of another library; empty if it does not have the quantity."""
    if row is None:
        return 32 * ' '
    low, middle, high = row.ratio
    return f'{_short(row.time[1]):>11}{middle:8.1f} ' + f'({low:.1f}-{high:.1f})'.ljust(12)


def _starts(rows):
    lines = ['until a kernel is ready, in ms; median (quartiles, where it was repeated)', '',
             f'{"":{LABEL}}{"compiled":>20}{"cached":>20}']
    for row in rows:
        what = f'{row.what}, {row.joints} joints'
        columns = map(_spread, (row.compiled, row.cached)) if row.compiled else (
            'run by Python', f'{_short(row.cached[1])} a call')
        lines.append(f'{what:{LABEL}}' + ''.join(f'{text:>20}' for text in columns))
    return '\n'.join(lines)


def _processes(processes):
    return 'from the start of Python to the first torque of robodyn7, in ms\n\n' + '\n'.join(
        f'{way:{LABEL}}{_spread(times):>20}' for way, times in processes.items())


def _spread(quartiles):
    low, middle, high = quartiles
    return _short(middle) + (f' ({_short(low)}-{_short(high)})' if low != high else '')


def _short(value):
    """Return three significant digits, without an exponent."""
    digits = 3 if value < 1.0 else 2 if value < 10.0 else 1 if value < 100.0 else 0
    return f'{value:.{digits}f}'
