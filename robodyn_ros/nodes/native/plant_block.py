"""Words of the simulator's native loop, see `block`."""

from __future__ import annotations

from robodyn_ros.nodes.native.block import places_of

FUNCTIONS = ('take', 'publish', 'trigger', 'forget_error', 'clock_gettime', 'clock_nanosleep',
             'plant_step', 'gravity')
INPUTS = ('arrays', 'named', 'wrenches')  # in the order in which they are read
INPUT = ('subscription', 'layouts', 'count')
WORDS = (
    # set by Python before the loop starts
    *FUNCTIONS, 'wake', 'message', 'depth',
    *(f'{each}_{word}' for each in INPUTS for word in INPUT),
    'states', 'truth', 'clock', 'state_message', 'clock_message', 'position', 'velocity', 'effort',
    'published', 'coordinate', 'multiplier', 'offset', 'independent',
    'runtime', 'state', 'torque', 'external', 'constants', 'joints', 'applied', 'state_rest',
    'period', 'tolerance', 'simulated', 'decimation', 'fault', '~step', '~timeout', '~until',
    # set by Python at any time
    'stop', 'truth_subscribed', 'clock_subscribed',
    # set by Python before the loop starts, then by machine code
    'deadline', 'late', 'half_late', 'lost', 'steps', 'total_steps', 'commanded_step', 'received',
    'brakes', 'released', 'silences', '~commanded', '~silent', 'errors',
    # set by machine code
    'reason', 'source', 'delays', 'delay_count',
    # scratch of the machine code
    'seconds', 'nanoseconds')
PLACES = places_of(WORDS)
DELAYS = 4096  # delays kept: of the last steps, in s

# reasons why a loop ended
STOPPED, UNKNOWN_MESSAGE, EVENT, DIVERGED = range(4)
