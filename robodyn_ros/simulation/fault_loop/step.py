"""One step of a `FaultLoop`, over scalars: host, report, controller, driver, plant."""

from __future__ import annotations

from types import SimpleNamespace

from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.jit.flags import any_above, any_of, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose, lookup, Table
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.trace import absolute, select
from robodyn_ros.simulation.closed_loop import Controller, parts
from robodyn_ros.simulation.fault_loop import records
from robodyn_ros.simulation.fault_loop.fault_numbers import active, fault_of, numbers_size
from robodyn_ros.simulation.fault_loop.link import (
    driven, host_delay, link_of, link_size, measured)
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.step import Constants, constants_size, plant_step, state_size

# kinds of steps: no special one; the first state is measured; control begins
NORMAL, MEASURE, BEGIN = 0.0, 1.0, 2.0
TABLES = ('delays', 'stamps', 'history')


class FaultStep:
    """
    Both parts of a step, before and after the call of the controller.

    Parameters
    ----------
    plant : Plant
        Nominal arm; the controller is called in each of its steps.
    controller : Controller
        The controller.
    tip : str
        Link on which wrenches act.
    capacity : int
        Runs that are simulated together.

    Attributes
    ----------
    state_sizes : tuple of int
        Lengths of record, arm, link, and number of the step.
    constant_sizes : tuple of int
        Lengths of the constants: joints, inertias, fault, and kind of the step, number of the run,
        lockstep, time at the first state.
    tables : dict of str to Table
        Recorded delays of the host, stamps, and records of all runs.
    key, kept_size, recorded, observed
        See `TrackingStep`.

    """

    state_sizes: tuple[int, ...]
    constant_sizes: tuple[int, ...]

    def __init__(self, plant: Plant, controller: Controller, tip: str, capacity: int):
        nv = plant.nv
        self._controller, self._capacity, self._options = controller, capacity, plant.options
        self._frame = plant.dynamics.frame(tip)
        self.state_sizes = nv + records.MARKS, state_size(nv), link_size(nv), 1
        self.constant_sizes = (constants_size(nv), 10 * plant.model.nb, numbers_size(nv), 4)
        # link, delay, flag that the controller was called
        self._kept_sizes = link_size(nv), 2
        self.kept_size, self.recorded = sum(self._kept_sizes), records.size(nv)
        self.tables = dict(zip(TABLES, (Table(1), Table(1), Table(self.recorded))))
        self.observed = controller.sending
        self.key = f'faults|{plant.options}|{tip}|{capacity}|{records.CHUNK}'

    def first(self, tree, runtime, state, constants, noise, *tables):
        """Return the argument of the controller, and what `then` needs of link and host."""
        n, (delays, stamps, history) = tree.nv, tables
        _, arm, link, (k,) = parts(state, self.state_sizes)
        joints, _, numbers, (kind, run, lockstep, epoch) = parts(constants, self.constant_sizes)
        f, link = fault_of(numbers, n), link_of(link, n)
        dt = joints[-1]
        time, on, on_before = _active(f, k, dt)
        begins, measures = equal(kind, BEGIN), equal(kind, MEASURE)
        runs, delay, link = host_delay(f, on, on & no(on_before), delays, k, time, dt, link)
        runs = any_of([runs, lockstep, begins, measures])
        delay = select(any_of([lockstep, begins, measures]), 0.0, delay)
        report, link = measured(
            f, on_before, *self._seen(f, arm, n), noise, link,
            lambda steps: self._past(f, history, run, k - 1.0 - steps, n), k, dt)
        measured_at, = lookup(stamps, k, [0])
        stamp = epoch + measured_at - report.age + report.clock
        arrival = select(lockstep, stamp, epoch + measured_at + delay)
        received = runs & report.present
        waits = runs & (no(flag(lockstep)) | report.unreadable)
        argument = self._controller.argument(SimpleNamespace(
            begins=begins, received=received, waits=waits, arrival=arrival, stamp=stamp,
            clock=arrival, q=report.q, qd=report.qd, effort=report.effort))
        return argument, [*flatten(link), delay, when(received | waits, 1.0, 0.0)]

    def then(self, tree, runtime, state, constants, given, *_tables):
        """Return the next state: driver and plant."""
        n, result = tree.nv, given[self.kept_size:]
        _, arm, _, (k,) = parts(state, self.state_sizes)
        link, (delay, called) = parts(given[:self.kept_size], self._kept_sizes)
        joints, inertias, numbers, (kind, *_) = parts(constants, self.constant_sizes)
        f, link = fault_of(numbers, n), link_of(link, n)
        dt, torque, q = joints[-1], result[:n], arm[:n]
        time, on, on_before = _active(f, k, dt)
        sent = equal(kind, BEGIN) | (called & self._controller.sends(result[n:]))
        late = delay > 0.5 * dt
        motors, braked, link = driven(f, on, on_before, link, torque, sent, late, dt)
        gravity = [g + select(on, d, 0.0) for g, d in zip(runtime, f.gravity)]
        inertias = [*inertias[:-10], *(x + select(on, d, 0.0)
                                       for x, d in zip(inertias[-10:], f.load))]
        own = tree.with_parameters(inertias).without_payloads()
        after = choose(braked, [
            lambda: plant_step(own, gravity, arm, motors, self._pushed(own, gravity, q, f, on),
                               joints, **self._options),
            lambda: self._held(own, gravity, arm, joints, n)])
        marks = [*torque, when(sent, 1.0, 0.0), time + delay, when(braked, 1.0, 0.0),
                 self._controller.faulted(result[n:])]
        return flatten([marks, after, link, when(equal(kind, MEASURE), k, k + 1.0)])

    def _seen(self, f, states, n):
        """Return position, velocity and effort as the encoders see them, from rows of `State`."""
        q, qd, _, effort, gap, rate = (states[row * n:(row + 1) * n] for row in range(6))
        if self._options['elastic']:
            q, qd = ([x + f.rotor * y for x, y in zip(*each)] for each in ((q, gap), (qd, rate)))
        return q, qd, effort

    def _past(self, f, history, run, step, n):
        """Return this state at the end of a step of this run."""
        found = lookup(history, records.row_of(step, run, self._capacity),
                       records.state_columns(n))
        return self._seen(f, found, n)

    def _held(self, tree, gravity, arm, joints, n):
        """Return the state of an arm that the brakes hold; its springs carry the weight."""
        weight = algorithms.gravity(tree, gravity, arm[:n])
        gap = [0.0] * n
        if self._options['elastic']:
            stiffness = Constants(*parts(joints, [n] * len(Constants._fields))).stiffness
            gap = [select(k, g / select(k, k, 1.0), 0.0) for k, g in zip(stiffness, weight)]
        return [*arm[:n], *[0.0] * (2 * n), *weight, *gap, *[0.0] * (len(arm) - 5 * n - 1),
                arm[-1]]

    def _pushed(self, tree, runtime, q, f, on):
        """Return the joint torques of the wrench."""
        pushes = on & any_above([absolute(x) for x in f.wrench], 0.0)

        def torques():
            J = algorithms.jacobian(tree, runtime, q, self._frame)
            return [sum((J[row][j] * f.wrench[row] for row in range(6)), 0.0)
                    for j in range(tree.nv)]

        return choose(pushes, [lambda: [0.0] * tree.nv, torques])


def _active(f, k, dt):
    """Return the time of a step, and flags that the fault is active then, and a step before."""
    time = k * dt
    return time, active(f, time), active(f, time - dt)
