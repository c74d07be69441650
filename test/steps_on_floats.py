"""Comparison of steps of a compiled run with those of the readable code, on floats."""

import numpy as np
from robodyn_ros.montecarlo.plans import plan_of
from tools.campaign.compiled.replay import steps_of


def compare_steps(study, run, numbers):
    """Compare the steps of a run that have these numbers."""
    nv, records, compared = study.plant.nv, [], 0
    state = slice(nv + 4, 3 * nv + 4)
    for each in steps_of(study, plan_of(study, run), 120):
        if not records and each.runs.records:  # the chunk of the hold, which is the first one
            records = list(each.runs.records[0][0])
        if each.number in numbers:
            made = study.loop.step_on_floats(each.runs, each.noise, records, each.rows)
            torque = made[:nv] / study.model.effort_limit
            np.testing.assert_allclose(torque, each.record[:nv] / study.model.effort_limit,
                                       rtol=0.0, atol=1e-9)
            np.testing.assert_allclose(made[state], each.record[state], rtol=0.0, atol=1e-9)
            compared += 1
        records.append(each.record)
    assert compared == len(numbers)
