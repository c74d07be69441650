"""Words of the simulator's loop, as `block` describes them."""

from __future__ import annotations

from robodyn_ros.nodes.native.block import places_of

FUNCTIONS = ('take', 'publish', 'trigger', 'forget_error', 'clock_gettime', 'clock_nanosleep',
             'plant_step', 'gravity')
INPUTS = ('arrays', 'named', 'wrenches')  # in the order in which their messages are read
INPUT = ('subscription', 'layouts', 'count')
WORDS = (
    # Python sets them before the loop begins
    *FUNCTIONS, 'wake', 'message', 'depth',
    *(f'{each}_{word}' for each in INPUTS for word in INPUT),
    'states', 'truth', 'clock', 'state_message', 'clock_message', 'position', 'velocity', 'effort',
    'published', 'coordinate', 'multiplier', 'offset', 'leads',
    'runtime', 'state', 'torque', 'external', 'constants', 'joints', 'applied', 'state_rest',
    'period', 'tolerance', 'simulated', 'decimation', 'fault', '~step', '~timeout', '~until',
    # Python sets them at any time
    'stop', 'listened', 'told',
    # Python sets them before the loop begins, and machine code goes on with them
    'deadline', 'late', 'half_late', 'lost', 'steps', 'total_steps', 'commanded_step', 'received',
    'brakes', 'released', 'silences', '~commanded', '~silent', 'errors',
    # machine code sets them
    'reason', 'source', 'delays', 'delay_count',
    # scratch of the machine code
    'seconds', 'nanoseconds')
PLACES = places_of(WORDS)
DELAYS = 4096  # that are kept: how late the last steps began, in s

# why a loop has ended
STOPPED, STRANGE, EVENT, DIVERGED = range(4)
