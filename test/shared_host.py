"""A program that calls an exported controller as controller_manager does, one update at a time."""

from pathlib import Path
import shutil
import struct
import subprocess
import time

import numpy as np
from robodyn_ros.dynamics import Dynamics

COMPILERS = ('c++', 'cc')
_MAIN = """\
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>
#include "cycle_loop.hpp"

using namespace @NAME@_controller;

static double values[3 * JOINTS];

static void get(void * to, size_t size)
{
  if (fread(to, 1, size, stdin) != size) {
    exit(0);
  }
}

int main(int count, char ** arguments)
{
  std::unique_ptr<SharedBlock> block;
  try {
    block = std::make_unique<SharedBlock>(arguments[1]);
  } catch (const std::exception & error) {
    fprintf(stderr, "%s", error.what());
    return 1;
  }
  bool real_time = false, carried = false;
  for (int k = 2; k < count; ++k) {
    real_time = real_time || !std::strcmp(arguments[k], "real_time");
    carried = carried || !std::strcmp(arguments[k], "carried");
  }
  CycleLoop loop(*block, !real_time, carried);
  for (;;) {
    const int command = getchar();
    double answer[JOINTS + 3] = {};
    int64_t stamp = 0;
    switch (command) {
      case 'a':
        loop.activate();
        break;
      case 's':
        get(values, sizeof(values));
        std::memcpy(loop.state().q, values, JOINTS * sizeof(double));
        std::memcpy(loop.state().qd, values + JOINTS, JOINTS * sizeof(double));
        std::memcpy(loop.state().effort, values + 2 * JOINTS, JOINTS * sizeof(double));
        break;
      case 'u':
        get(&stamp, sizeof(stamp));
        answer[0] = loop.update(stamp);
        break;
      case 't': {  // updates in another thread, which this one takes over from
        std::atomic<int> updates{0};
        std::atomic<bool> over{false};
        std::thread real_time([&] {
            while (!over) {
              if (loop.enter()) {
                loop.update(++stamp);
                ++updates;
                loop.leave();
              }
            }
          });
        while (updates < 3) {
          std::this_thread::yield();
        }
        loop.close();
        const int before = updates;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        answer[0] = updates - before;
        over = true;
        real_time.join();
        break;
      }
      case 'q':
        answer[0] = loop.stop();
        break;
      case 'e':
        answer[0] = loop.end();
        break;
      case 'c':
        answer[0] = loop.chain(true);
        break;
      case 'd':
        answer[0] = loop.chain(false);
        break;
      case 'g': {
        @NAME@_drives drives = @NAME@_initial_drives;
        get(values, sizeof(values));
        std::memcpy(drives.kp, values, JOINTS * sizeof(double));
        std::memcpy(drives.kd, values + JOINTS, JOINTS * sizeof(double));
        drives.commanded = values[2 * JOINTS];
        const auto command = loop.drive(drives);
        fwrite(&command, sizeof(command), 1, stdout);
        break;
      }
      case 'f':
        get(values, sizeof(values));
        answer[0] = loop.follow(values, values + JOINTS, values + 2 * JOINTS, 0.2);
        break;
      default:
        return 0;
    }
    answer[1] = loop.memory().motion.mode;
    answer[2] = loop.memory().motion.fault.code;
    std::memcpy(answer + 3, loop.torque(), JOINTS * sizeof(double));
    fwrite(answer, sizeof(answer), 1, stdout);
    fflush(stdout);
  }
}
"""


def missing():
    """Return which compiler is missing; '' if none is."""
    return next((each for each in COMPILERS if shutil.which(each) is None), '')


def build(export, folder):
    """Compile the controller of an export without ROS; return the program."""
    for name, text in export.ros2_control_files().items():
        if name.startswith('src/') and not name.startswith('src/controller.'):
            (folder / Path(name).name).write_text(text)
    (folder / 'main.cpp').write_text(
        '#include <cstdlib>\n' + _MAIN.replace('@NAME@', export.name))
    strict = '-std=c++17 -Wall -Wextra -pedantic -Wshadow -Wconversion -Werror'.split()
    for name in sorted(folder.glob('*.c')):
        _run(['cc', '-std=c99', '-O0', '-c', name.name], folder)
    for name in ('cycle_loop', 'fault_text', 'shared_block', 'main'):
        _run(['c++', *(strict if name != 'main' else ['-std=c++17']), '-c', f'{name}.cpp'], folder)
    _run(['c++', *(each.name for each in folder.glob('*.o')), '-lm', '-lrt', '-pthread', '-o',
          'host'], folder)
    return folder / 'host'


def _run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


class ControllerProcess:
    """
    An exported controller in a process of its own, and a simulated arm as its hardware.

    The arm is the model without friction and rotors, whose driver adds the gravity torque if it is
    `carried`; an update is a millisecond, or, in real time,
    the time since the last one.
    """

    def __init__(self, program, block, model, q, real_time=False, carried=False):
        self.process = subprocess.Popen(
            [program, block, *['real_time'] * real_time, *['carried'] * carried],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._last = time.monotonic() if real_time else None
        self._dynamics, self._n = Dynamics(model), model.nv
        self._carried = carried
        self.q, self.qd, self.stamp = np.array(q, dtype=float), np.zeros(model.nv), 0
        self.torque, self.mode, self.fault = np.full(model.nv, np.nan), 0.0, 0.0

    def ask(self, command, data=b''):
        """Send a command; return its result."""
        self._send(command, data)
        numbers = self._read(self._n + 3)
        self.mode, self.fault, self.torque = numbers[1], numbers[2], numbers[3:].copy()
        return numbers[0]

    def _send(self, command, data):
        self.process.stdin.write(command.encode() + data)
        self.process.stdin.flush()

    def _read(self, count):
        answer = self.process.stdout.read(8 * count)
        assert len(answer) == 8 * count, self.process.stderr.read().decode()
        return np.frombuffer(answer)

    def drive(self, kp, kd, commanded=True):
        """Return the command for drives with gains: effort, q, qd, kp and kd, (5, n)."""
        self._send('g', np.concatenate([kp, kd, np.full(self._n, float(commanded))]).tobytes())
        command = self._read(5 * self._n).reshape(5, self._n)
        self._read(self._n + 3)
        return command

    def activate(self):
        """Activate the controller, which takes the arm over with the next state."""
        self.ask('a')

    def show(self, q=None):
        """Write the state of the arm, or other positions, for the controller."""
        q = self.q if q is None else q
        self.ask('s', np.concatenate([q, self.qd, np.full(self._n, np.nan)]).tobytes())

    def update(self, q=None):
        """Run an update with the present state, or with other positions, then move the arm."""
        self.show(q)
        self.stamp += 1_000_000
        result = bool(self.ask('u', struct.pack('q', 10**18 + self.stamp)))
        passed = 1e-3
        if self._last is not None:
            now = time.monotonic()
            passed, self._last = now - self._last, now
        steps = max(1, round(passed / 1e-3))
        for _ in range(steps if result else 0):
            self.qd += passed / steps * self._dynamics.forward_dynamics(
                self.q, self.qd, self.torque + self._carried * self._dynamics.gravity(self.q))
            self.q += passed / steps * self.qd
        return result

    def follow(self, q, qd, qdd):
        """Give a reference from upstream; return the joint that is refused, or -1."""
        return int(self.ask('f', np.concatenate([q, qd, qdd]).tobytes()))

    def close(self):
        """End the process."""
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()
        self.process.stderr.close()
