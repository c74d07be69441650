"""Exported functions built and run by compilers of this and of other machines."""

from dataclasses import dataclass
import os
from pathlib import Path
import shutil
import subprocess

import numpy as np
from robodyn_ros.export.dynamics_functions import LOADS
from robodyn_ros.export.places import Array

STRICT = ('-std=c99', '-Wall', '-Wextra', '-pedantic', '-Wconversion', '-Wshadow',
          '-Wstrict-prototypes', '-Wmissing-prototypes', '-Werror')


@dataclass(frozen=True)
class Machine:
    """
    A compiler with options, and what runs its programs.

    `code` are the options of exported code, where they differ from those of the program around it,
    and `strip` is what takes the name of its processor away, so that both can be linked.
    """

    name: str
    compiler: str
    flags: tuple = ()
    runner: tuple = ()
    code: tuple = ()
    strip: tuple = ()

    def missing(self):
        """Return which program is missing; '' if none is."""
        return next((each for each in (self.compiler, *self.runner[:1])
                     if shutil.which(each) is None), '')


NATIVE = Machine('native', os.environ.get('CC') or 'cc')
CROSS = (
    Machine('aarch64', 'aarch64-linux-gnu-gcc', ('-static',), ('qemu-aarch64',)),
    # code of a Cortex-M7 in a program for a Cortex-A: QEMU's user mode runs no whole programs for
    # the former in all of its versions
    Machine('cortex-m7', 'arm-none-eabi-gcc',
            ('-mcpu=cortex-a53', '-mthumb', '-mfloat-abi=hard', '-mfpu=neon-fp-armv8',
             '--specs=rdimon.specs'), ('qemu-arm', '-cpu', 'max'),
            ('-mcpu=cortex-m7', '-mthumb', '-mfloat-abi=hard', '-mfpu=fpv5-d16'),
            ('arm-none-eabi-objcopy', '--remove-section', '.ARM.attributes')),
    Machine('riscv64', 'riscv64-linux-gnu-gcc', ('-static',), ('qemu-riscv64',)))


def driver(export):
    """Return a program that applies all functions to records of a file, and writes results."""
    name, lines = export.name, []
    for each in export.dynamics:
        given = [f'{name}_{LOADS}' if place.name == LOADS else place.name
                 for place in each.function.inputs]
        size, = (place.size for place in each.function.outputs if isinstance(place, Array))
        lines += [f'        {each.function.name}({", ".join([*given, "result"])});',
                  f'        put(result, {size} * sizeof(double));']
    text = _DRIVER.replace('@DYNAMICS@', '\n'.join(lines))
    if export.cycle is not None:
        text = text.replace('@CYCLE@', _CYCLE)
    return text.replace('@CYCLE@', '').replace('@NAME@', name).replace(
        '@NAME_UPPER@', name.upper()).replace(
        '@JOINTS@', str(export.model.nv)).replace('@RESULT@', str(max((
            each.function.outputs[0].size for each in export.dynamics), default=1)))


_DRIVER = """\
#include <stdio.h>
#include <stdlib.h>
#include "@NAME@.h"

static FILE *input;
static FILE *output;

static int get(void *numbers, size_t size)
{
    return fread(numbers, 1, size, input) == size;
}

static void put(const void *numbers, size_t size)
{
    if (fwrite(numbers, 1, size, output) != size) {
        exit(1);
    }
}

static void dynamics(int count)
{
    static double q[@JOINTS@], qd[@JOINTS@], qdd[@JOINTS@], result[@RESULT@];
    double *const tau = qdd;
    (void)tau;
    (void)put;
    (void)result;
    for (int k = 0; k < count; ++k) {
        if (!get(q, sizeof q) || !get(qd, sizeof qd) || !get(qdd, sizeof qdd)) {
            exit(2);
        }
@DYNAMICS@
    }
}
@CYCLE@
int main(void)
{
    double counts[2];
    input = fopen("in.bin", "rb");
    output = fopen("out.bin", "wb");
    if ((input == NULL) || (output == NULL) || !get(counts, sizeof counts)) {
        return 3;
    }
    dynamics((int)counts[0]);
#ifdef CYCLES
    cycles((int)counts[1]);
#endif
    return fclose(output);
}
"""
_CYCLE = """
#define CYCLES
static void cycles(int count)
{
    static struct @NAME@_state state;
    static struct @NAME@_memory memory, next;
    static struct @NAME@_program program;
    static double path[8 * @NAME_UPPER@_SEGMENT], torque[@JOINTS@];
    for (int k = 0; k < count; ++k) {
        double used;
        if (!get(&used, sizeof used) || (used > 8.0) ||
            !get(path, (size_t)used * @NAME_UPPER@_SEGMENT * sizeof(double)) ||
            !get(&state, sizeof state) || !get(&memory, sizeof memory) ||
            !get(&program, sizeof program)) {
            exit(4);
        }
        @NAME@_cycle(path, (int32_t)used, &state, &memory, &program, torque, &next);
        put(torque, sizeof torque);
        put(&next, sizeof next);
    }
}
"""


def write(files, folder):
    """Write files into a folder."""
    for name, content in files.items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            (folder / name).write_text(content)


def build(folder, machine, flags, sources, program='driver'):
    """Compile and link a program; fail with what the compiler wrote."""
    if machine.code:
        own = [each for each in sources if each not in (f'{program}.c', 'main.c')]
        sources = [each for each in sources if each not in own]
        for each in own:
            name = f'{machine.name}_{Path(each).stem}.o'
            if each.endswith('.c'):
                _call(folder, [machine.compiler, *flags, *machine.code, '-c', each, '-o', name])
            else:
                (folder / name).write_bytes((folder / each).read_bytes())
            _call(folder, [*machine.strip, name])
            sources.append(name)
    _call(folder, [machine.compiler, *flags, *machine.flags, *sources, '-lm', '-o', program])
    return folder / program


def _call(folder, command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:5000]


def run(machine, program, numbers):
    """Run a driver on an array of doubles; return the array that it writes."""
    folder = Path(program).parent
    np.concatenate([np.ravel(each) for each in numbers]).tofile(folder / 'in.bin')
    done = subprocess.run([*machine.runner, str(program)], cwd=folder, capture_output=True,
                          text=True)
    assert done.returncode == 0, (done.returncode, done.stderr[:5000])
    return np.fromfile(folder / 'out.bin')
