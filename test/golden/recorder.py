"""Recording of requests, steps and their results."""

import numpy as np

from golden.log_file import off_grid

STEPS = ('activate', 'resume', 'update', 'coast', 'between')
_PROBES = 100  # steps between two probes


class Recorder:
    """
    Drives a host step by step and records its answers.

    Parameters
    ----------
    host : ControllerHost
    with_effort : bool
        Whether states contain the effort of the joints.

    Attributes
    ----------
    requests : list
        Index of the following step, ns, name, arguments, answer.
    events : list
        Index of a step and the changes of the status after it.
    rows : dict of str to list
        ns, kind, state as integers, torque and masks of each step.
    probes : dict of str to list
        Results of `probe`.

    """

    def __init__(self, host, with_effort=False):
        self.host, self._with_effort = host, with_effort
        self.requests, self.events = [], []
        self.rows = {name: [] for name in ('ns', 'kind', 'q', 'qd', 'effort', 'torque', 'masks')}
        self.probes = {}
        self._status = {}

    def request(self, ns, name, arguments):
        """Make a request; return the answer."""
        answer = self.host.request(name, 1e-9 * ns, arguments)
        self.requests.append([len(self.rows['ns']), ns, name, arguments, answer])
        return answer

    def step(self, ns, kind, state):
        """Make a step with a state of integers; return the torque."""
        q, qd, effort = (off_grid(array, name) for array, name in zip(
            state, ('q', 'qd', 'effort')))
        torque = getattr(self.host, kind)(1e-9 * ns, q, qd, effort if self._with_effort else None)
        for name, value in zip(self.rows, (ns, STEPS.index(kind), *state, torque.copy(),
                                           self.host.masks())):
            self.rows[name].append(value)
        self._observe()
        return torque

    def _observe(self):
        index, status = len(self.rows['ns']) - 1, self.host.status()
        changes = {name: value for name, value in status.items()
                   if name not in self._status or self._status[name] != value}
        if changes:
            self.events.append([index, changes])
            self._status = status
        if index % _PROBES == _PROBES - 1:
            for name, value in self.host.probe().items():
                self.probes.setdefault(name, []).append(np.array(value, dtype=float))

    def arrays(self):
        """Return rows and probes."""
        arrays = {name: np.array(values) for name, values in self.rows.items()
                  if name != 'effort' or self._with_effort}
        return {**arrays, **{f'probe {name}': np.array(values)
                             for name, values in self.probes.items()}}
