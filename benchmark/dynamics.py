"""
Times of the library, in comparison with Pinocchio, MuJoCo and Drake, where installed.

    python benchmark/dynamics.py
    python benchmark/dynamics.py --quick
    python benchmark/dynamics.py --robots panda arm.urdf --json

All compute the same quantities of the same robot in the same state, which is checked first, in one
process and in turns. docs/measurements.md describes the comparison.
"""
import argparse
from pathlib import Path

from cases import installed, measure_batches, measure_calls, measure_scaling
from checkout import ROOT
from machine_record import load, record
from results import Results
from robots import EXAMPLES
from start import measure_processes, measure_starts
from steps import measure_loop, measure_steps
from timing import Budget, progress

DOCS = ROOT / 'docs'
HEAD = """\
Speed of the dynamics beside Pinocchio, MuJoCo and Drake

command:             python benchmark/dynamics.py --docs
"""
SIZES = (2, 4, 7, 12, 20, 30, 45, 60, 80, 100)
STARTS = (7, 30, 60)


def measure(options):
    """Return all figures."""
    quick = options.quick
    budget = Budget(total=0.05, min_rounds=3) if quick else Budget()
    machine, (peers, missing) = record(), installed()
    rows = [
        *measure_calls(options.robots, peers, budget),
        *measure_batches(options.robots[:1], peers, budget),
        *measure_steps(budget),
        *measure_loop(budget),
        *measure_scaling((2, 7, 20) if quick else SIZES, peers, budget)]
    repeats = 1 if quick else 3
    starts = measure_starts(STARTS[:1] if quick else STARTS, repeats)
    processes = measure_processes(repeats, any(peer.name == 'Pinocchio' for peer in peers))
    machine['load average after'] = load()
    progress()
    return Results(machine, rows, starts, processes, missing)


def update_page(results):
    """Write the table, the CSV file and the picture of docs/measurements.md."""
    data = DOCS / 'data' / 'dynamics.txt'
    data.write_text(f'{HEAD}{results.text()}\n', encoding='utf-8')
    write(results, data.with_suffix('.csv'), DOCS / 'benchmark.png')


def write(results, table, picture):
    """Write the CSV file and the picture, if paths are given."""
    if table:
        results.write_csv(table)
    if picture:
        from plot import draw  # needs Matplotlib
        draw(results, picture)


def options_of(parser):
    """Return the options of the command line."""
    parser.add_argument('--robots', nargs='+', metavar='ROBOT', help='robodyn7, '
                        f'{", ".join(EXAMPLES)}, or the path of a URDF; default all of them')
    parser.add_argument('--quick', action='store_true',
                        help='half a minute: one robot, short chains, few rounds')
    parser.add_argument('--json', action='store_true', help='print JSON instead of tables')
    parser.add_argument('--csv', type=Path, metavar='PATH', help='write all figures')
    parser.add_argument('--plot', type=Path, metavar='PATH', help='draw them (Matplotlib)')
    parser.add_argument('--docs', action='store_true',
                        help='renew the table, the CSV file and the picture of the pages')
    options = parser.parse_args()
    options.robots = options.robots or ['robodyn7', *([] if options.quick else EXAMPLES)]
    return options


def main():
    """Run the benchmark."""
    options = options_of(argparse.ArgumentParser(description=__doc__.strip(), formatter_class=(
        argparse.RawDescriptionHelpFormatter)))
    results = measure(options)
    print(results.json() if options.json else results.text())
    write(results, options.csv, options.plot)
    if options.docs:
        update_page(results)


if __name__ == '__main__':
    main()
