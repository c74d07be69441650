"""
Hostile calls of the dynamics, for `test_dynamics_programs`, which runs this file in a process.

    python fuzz_dynamics.py calls|kernel|plant|threads|first EXAMPLES

Every call gives the result of the same call on clean arrays, or an exception of ours (or a
TypeError). Results that are held, or seen through a view, stay as they are whatever is called
next.
"""

import random
import sys
from threading import Barrier, Thread

from dynamics_calls import arrays, CALLS, JOINTS, LINK, MODEL, PARTS, WITH_OUT
from hostile import a_link, an_array, an_output, REFUSED
from hypothesis import given, HealthCheck, Phase, settings, strategies
import numpy as np
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.simulation import Plant

EXPECTED_ERRORS = (RobodynError, TypeError)
ROWS = (None, None, 0, 1, 3, 4, 9)
LINKS = [name for name, frame in MODEL.links.items()]


def equal(actual, expected, what):
    """Fail unless two results are the same to the bit, also where they are no numbers."""
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (actual, expected))):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=what)


class Held:
    """Results in the hands of the caller, whole or in parts, and what they were."""

    def __init__(self):
        self.items = []

    def add(self, choose, result):
        if isinstance(result, np.ndarray):
            view = choose([lambda x: x, lambda x: x[:1], memoryview, lambda x: x.T,
                           lambda x: x.flat, np.asarray])(result)
            self.items.append((view, np.array(view)))
        for view, before in self.items:
            np.testing.assert_array_equal(np.array(view), before, err_msg='a held result changed')
        if len(self.items) > 6:
            del self.items[choose([0, 3, 6])]


class Calls:
    """Draws calls of a `Dynamics` and checks them against another one, called in clean ways."""

    def __init__(self):
        self.dyn, self.clean = Dynamics(MODEL), Dynamics(MODEL)
        self.begin()

    def begin(self):
        self.held = Held()

    def one(self, choose):
        name, count, rest = choose(CALLS + PARTS)
        rows = choose(ROWS)
        drawn = [an_array(choose, JOINTS, rows) for _ in range(count)]
        given, meant = [each[0] for each in drawn], [each[1] for each in drawn]
        ok, keywords, clean_rest = True, {}, rest
        if rest[:1] == (LINK,):
            link, ok = a_link(choose, choose(LINKS))
            clean_rest = rest = (link, *rest[1:])
            clean_rest = (str(link), *rest[1:]) if ok else rest
        ok = ok and all(each is not REFUSED for each in meant)
        if ok:
            with np.errstate(all='ignore'):
                ok, expected = attempt(lambda: getattr(self.clean, name)(*meant, *clean_rest))
        writable = True
        if ok and name in {each[0] for each in WITH_OUT}:
            keywords['out'], writable = an_output(choose, expected.shape, given)
        apply = choose(['no', 'no', 'no', 'no', 'name', 'more', 'fewer'])
        if apply == 'name':
            keywords[choose(['speed', 'q', '', 'out ', 'ö'])] = given[0]
        given = given[1:] if apply == 'fewer' else given
        more = [given[0]] * 5 if apply == 'more' else []
        before = np.array(keywords['out']) if writable is False else None
        what = f'{name} {rows} {given} {rest} {keywords}'
        with np.errstate(all='ignore'):
            done, result = attempt(
                lambda: getattr(self.dyn, name)(*given, *rest, *more, **keywords))
        assert done == (ok and apply == 'no' and writable is not False), f'{result!r}: {what}'
        if before is not None:
            np.testing.assert_array_equal(np.array(keywords['out']), before)
        if done and writable:
            equal(result, expected, what)
            assert keywords.get('out') is None or result is keywords['out'], what
            if keywords.get('out') is None:
                self.held.add(choose, result)


def attempt(call):
    """Return whether a call gave a result, and that or the exception."""
    try:
        return True, call()
    except EXPECTED_ERRORS as error:
        return False, error


class Kernels:
    """Draws calls of a kernel of one's own: arguments of several lengths, a matrix as result."""

    def __init__(self):
        def function(tree, runtime, a, b, c):
            return [[a[0] * b[0], a[1] - c[0], runtime[2]], [b[0] / c[0], a[2] + b[1], 1.5]]

        kernel = Dynamics(MODEL).kernel(function, {'a': 3, 'b': 2, 'c': 1}, (2, 3))
        # an outer access to the same code: first the checks in Python, then those in machine code
        self.calls = kernel, kernel.builtin('kernel', 'A kernel.')
        self.clean = Dynamics(MODEL).kernel(function, {'a': 3, 'b': 2, 'c': 1}, (2, 3))
        self.begin()

    def begin(self):
        self.held = Held()

    def one(self, choose):
        rows = choose(ROWS)
        drawn = [an_array(choose, size, rows) for size in (3, 2, 1)]
        given, meant = [each[0] for each in drawn], [each[1] for each in drawn]
        ok, writable, keywords = all(each is not REFUSED for each in meant), True, {}
        if ok:
            ok, expected = attempt(lambda: self.clean(*meant))
        if ok:
            keywords['out'], writable = an_output(choose, expected.shape, given)
        call = choose(self.calls)
        done, result = attempt(lambda: call(*given, **keywords))
        assert done == (ok and writable is not False), f'{result!r}: {given} {keywords}'
        if done and writable:
            equal(result, expected, f'{given} {keywords}')
            if keywords['out'] is None:
                self.held.add(choose, result)


class Plants:
    """Draws what is done to a plant; its twin gets the clean arrays."""

    def __init__(self):
        self.dynamics = Dynamics(MODEL)
        self.begin()

    def begin(self):
        self.plant, self.twin = (Plant(MODEL, dynamics=self.dynamics) for _ in range(2))

    def one(self, choose):
        action = choose(['step', 'step', 'step', 'push', 'reset', 'change', 'brakes', 'made'])
        rows = choose([None, None, 1, 2])
        with np.errstate(all='ignore'):
            getattr(self, action)(choose, rows)
        for row in ('q', 'qd', 'qdd', 'applied', 'friction', 'stop', 'external'):
            np.testing.assert_array_equal(getattr(self.plant, row), getattr(self.twin, row))
        assert np.isfinite(self.plant.q).all() and np.isfinite(self.plant.qd).all()

    def both(self, act, dirty, clean):
        done, result = attempt(lambda: act(self.plant, dirty))
        expected = False if clean is REFUSED else attempt(lambda: act(self.twin, clean))[0]
        assert done == expected, f'{result!r} of {dirty!r}'

    def step(self, choose, rows):
        self.both(lambda plant, torque: plant.step(torque), *an_array(choose, JOINTS, rows))

    def push(self, choose, rows):
        link, exists = a_link(choose, LINK)
        wrench, clean = an_array(choose, 6, rows)
        if wrench is None:  # ends the push
            clean = None
        if not exists:
            assert not attempt(lambda: self.plant.push(link, wrench))[0]
        else:
            self.both(lambda plant, w: plant.push(str(link), w), wrench, clean)

    def reset(self, choose, rows):
        q, clean = an_array(choose, JOINTS, rows)
        self.both(lambda plant, x: plant.reset(x), q, None if q is None else clean)

    def change(self, choose, rows):
        name = choose(['damping', 'friction', 'armature', 'effort_limit', 'stop_stiffness', 'x'])
        values = choose([0.0, 0.1, 1e3, -1.0, np.nan, np.inf, None, 'a', [0.1] * JOINTS,
                         [1.0, 2.0], np.zeros((1, JOINTS)), object(), {}])
        self.both(lambda plant, x: plant.change(**{name: x}), values, values)

    def brakes(self, choose, rows):
        for plant in (self.plant, self.twin):
            plant.engage()
        if choose([True, True, False]):
            for plant in (self.plant, self.twin):
                plant.release()

    def made(self, choose, rows):
        size = choose([0, -1.0, np.nan, np.inf, '1', None, [1e-3], 1e-3])
        done, result = attempt(lambda: Plant(MODEL, size, self.plant.dynamics))
        assert done == (size == 1e-3), result


def properties(subject, examples):
    """Run one property: several calls in a row on one subject."""
    @settings(max_examples=examples, deadline=None, derandomize=True, database=None,
              phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(strategies.data())
    def calls(data):
        subject.begin()
        for _ in range(5):
            subject.one(lambda options: data.draw(strategies.sampled_from(options)))

    calls()


def at_once(work):
    """Run `work(k)` in four threads that switch as often as they can."""
    failures = []

    def guarded(k):
        try:
            work(k)
        except BaseException as error:
            failures.append(error)

    sys.setswitchinterval(1e-5)
    workers = [Thread(target=guarded, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]


def threads(examples):
    """Make calls of one `Dynamics` from several threads."""
    shared = Dynamics(MODEL)

    def work(seed):
        calls = Calls()
        calls.dyn = shared
        choose = random.Random(seed).choice
        for _ in range(examples):
            calls.one(choose)

    at_once(work)


def first(examples):
    """Make the first calls of everything, which compile, in several threads at the same time."""
    given = [arrays(count, *rows) for _, count, _ in CALLS + PARTS for rows in ((), (5,))]
    calls = [(name, rest) for name, _, rest in CALLS + PARTS for _ in range(2)]

    def results(dyn):
        return [getattr(dyn, name)(*each, *rest) for (name, rest), each in zip(calls, given)]

    expected = results(Dynamics(MODEL))
    for _ in range(examples):
        dyn, start = Dynamics(MODEL), Barrier(4)

        def work(_):
            start.wait()
            for turn in range(2):
                for result, right in zip(results(dyn), expected):
                    equal(result, right, 'of a first call')

        at_once(work)


if __name__ == '__main__':
    what, number = sys.argv[1], int(sys.argv[2])
    np.seterr(all='ignore')
    if what in ('threads', 'first'):
        {'threads': threads, 'first': first}[what](number)
    else:
        properties({'calls': Calls, 'kernel': Kernels, 'plant': Plants}[what](), number)
    print('all right')
