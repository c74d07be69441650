"""
Speed of Pinocchio called from C++ beside that of the exported C, in one process and in turns.

    python benchmark/cpp.py [ARM.urdf] [--eigen FOLDER]

It needs g++, Pinocchio (`pip install pin`) and the headers of Eigen (`pip install cmeel-eigen`, or
their folder). Results are compared to 1e-9 of the largest entry before anything is timed.
"""

import argparse
from pathlib import Path
import subprocess
import tempfile

from checkout import ROOT
from machine_record import load, record
import pinocchio

from robodyn_ros.export import Export
from robodyn_ros.model import RobotModel

FUNCTIONS = ('inverse_dynamics', 'gravity', 'mass_matrix', 'forward_dynamics',
             'forward_dynamics_derivatives')
FLAGS = '-O3', '-DNDEBUG'  # as the library of the wheel; not those of one processor
PREFIX = Path(pinocchio.__file__).parents[4]  # of the wheels


def built(folder, eigen):
    """Compile the exported C and the program that times it, with the same flags; return it."""
    sources = [str(path) for path in folder.glob('*.c') if path.name != 'main.c']
    subprocess.run(['gcc', '-std=c99', *FLAGS, '-c', *sources], cwd=folder, check=True)
    objects = [str(path) for path in folder.glob('*.o')]
    subprocess.run([
        'g++', '-std=c++17', *FLAGS, '-w', '-DBOOST_MPL_LIMIT_LIST_SIZE=30',
        '-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS', '-DBOOST_FUSION_INVOKE_MAX_ARITY=10',
        '-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION', f'-I{folder}',
        f'-isystem{PREFIX / "include"}', f'-isystem{eigen}',
        ROOT / 'benchmark' / 'cpp_turns.cpp', *objects,
        f'-L{PREFIX / "lib"}', f'-Wl,-rpath,{PREFIX / "lib"}', '-lpinocchio_default',
        '-lpinocchio_parsers', '-lm', '-o', folder / 'turns'], check=True)
    return folder / 'turns'


def main():
    """Export, build and print."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('urdf', nargs='?', type=Path, default=ROOT / 'urdf' / 'robodyn7.urdf')
    parser.add_argument('--eigen', type=Path, default=PREFIX / 'include' / 'eigen3')
    options = parser.parse_args()
    facts = record()
    export = Export(RobotModel.from_urdf(options.urdf), FUNCTIONS, prefix='robot')
    print(f'Pinocchio from C++ beside exported C, {options.urdf.name}\n')
    for name, fact in {'command': 'python benchmark/cpp.py', **facts}.items():
        print(f'{name + ":":20} {fact}')
    print('\nus per call, median (quartiles) of 400 turns of half a millisecond in one process; '
          'x: times ours')
    with tempfile.TemporaryDirectory() as name:
        for file, text in export.c_files().items():
            (Path(name) / file).write_text(text, encoding='utf-8')
        print(f'\n{"GCC " + " ".join(FLAGS):32} exported C             Pinocchio              x',
              flush=True)
        subprocess.run([built(Path(name), options.eigen), options.urdf], check=True)
    print(f'\nload average after: {load()}')


if __name__ == '__main__':
    main()
