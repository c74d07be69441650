"""
Runs a target of `fuzz_urdf`, `fuzz_messages` or `fuzz_parameters` under libFuzzer, by atheris.

    python fuzz_guided.py MODULE.TARGET [CORPUS FOLDER] [libFuzzer options, as -max_total_time=60]

Inputs that reach new branches of the package are kept and changed further, until something is
wrong or the time is over. A target that takes text gets the URDFs at hand to begin with.
"""

import importlib
from pathlib import Path
import sys
import tempfile

import atheris

with atheris.instrument_imports(include=['robodyn_ros']):
    for each in ('fuzz_urdf', 'fuzz_messages', 'fuzz_parameters'):
        if sys.argv[1:] and sys.argv[1].startswith(each):
            module = importlib.import_module(each)


def chosen(target):
    """Return a target that makes its choices by bytes."""
    def run(data):
        provider = atheris.FuzzedDataProvider(data)
        target(lambda options: options[provider.ConsumeIntInRange(0, len(options) - 1)])

    return run


def main(target, options):
    """Run a target until its time is over; does not return."""
    if target.__annotations__.get('text') is bytes:
        run, folder = target, Path(tempfile.mkdtemp(prefix='fuzz_'))
        for k, seed in enumerate(module.seeds()):
            (folder / f'seed{k}').write_bytes(seed)
        options = [*options, str(folder)]
    else:
        run = chosen(target)
    atheris.Setup([sys.argv[0], *options], run)
    atheris.Fuzz()


if __name__ == '__main__':
    main(getattr(module, sys.argv[1].partition('.')[2]), sys.argv[2:])
