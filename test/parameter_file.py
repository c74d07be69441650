"""
Makes the files of parameters in `config/`, and two pages in `docs/`, from tables and profiles.

    python test/parameter_file.py      writes them anew, after a change of a table
"""
import math
from pathlib import Path
import re
import sys
import textwrap

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 99
HEAD = """\
# Parameters of {node}, with their defaults. Use a changed copy with
#     ros2 launch robodyn_ros {launch} params_file:=my.yaml
# "per joint": one number for all joints, or one for each in the order of the model.
# "live": can be changed while the node runs: ros2 param set /{node} NAME VALUE
"""
ARMS_HEAD = """# Arms
*What does the driver of my arm do, and what are the steps of its first launch?*

Generated from the profiles in `robodyn_ros/arms/`, which were read from the sources of the drivers
at the versions named; the profiles also name the source of each step. **None of these arms was
here.** `robodyn arm` uses the same profiles:
```
robodyn arm list
robodyn arm fr3 --urdf fr3.urdf --write my_fr3
robodyn arm fr3 --urdf fr3.urdf --simulate
robodyn arm fr3 --check
```
- `--write` makes `arm.yaml` and, where the driver brings no controller for torques,
  `controllers.yaml`, and prints the steps with the launch line.
- `--check` compares the running driver with the profile: joints and their order, rate, effort,
  interface of its controller, other commanders, and parameters of the hardware in its robot
  description. It needs `robot_description`, or `--urdf`.
- `--simulate` starts the simulator with rate, limits, topics, messages (if their workspace is
  sourced), reported effort and gravity compensation of the driver. Other habits, such as a spring
  to the zero pose, are parameters `driver.` of the
  [simulator](simulator.md#model-errors-sensor-errors-faults). Not simulated: brakes, the driver's
  own check of limits, and what it does at its activation.
- Torques go by `forward` (a forward_command_controller with `effort` or another interface),
  `present` (a controller that the driver brings), or `plugin` (the [exported
  controller](ros2_control.md#controller-in-controller_manager) with these interfaces).

**A driver may be otherwise than its profile says.** Joints that move against their torque, and
torques that nobody executes, are named in the first hold, before a motion. At 250 Hz and less, or
where the controller carries the arm, a wrong sign is a fault after 10 to 130 mrad, and the arm
gets no torque: one that its driver carries coasts by 0.1 to 0.3 rad, another falls. Springs about
the present pose, larger torques and wrong positions are not found before the arm has moved: make
the first launch without load, away from the limits, with a hand at the emergency stop. What
becomes of an arm with each such habit was [computed](measurements.md#habits-of-drivers).

An arm that is not here: [your own arm](quick_start.md#your-own-arm).

## Bridges
`robodyn bridge franka ADDRESS` drives a Franka arm by Franka's own library (`pip install
robodyn_ros[franka]`), without franka\\_ros2. **It met a simulator of the protocol, not the arm**:
in 130 s with both checks of franka-sim on 112,186 states under control, 26 motions, 4 kills of the
controller (kill -9), and no reflex; in 300 s on a machine that was busy with other work 158,607,
42 and 9, and one reflex, after 20 lost commands in a row (`tools/franka_soak.py`).
```
robodyn bridge franka 172.16.0.2
robodyn arm fr3 --urdf fr3.urdf --write my_fr3
ros2 launch robodyn_ros controller.launch.py params_file:=my_fr3/arm.yaml
```
- It publishes `joint_states` at 1000 Hz, with efforts that include gravity, and takes
  `effort_controller/commands`, limited to 87 and 12 N m and to 990 N m/s.
- **Control begins with the first command.** After 0.05 s without one the arm is damped, and given
  back to the robot's own hold below 0.05 rad/s, or after 2 s; so it is at Ctrl-C. A kill -9 of the
  bridge is for the robot a lost connection: it brakes.
- After a reflex of the robot commands are taken again when they have ended for 0.5 s: deactivate
  the controller, look at the arm, activate it.
- The library insists on a real-time kernel; `--no-realtime` does not.

## Another message
A driver that takes another message than `Float64MultiArray` needs parameters, no code:
`command_type` names the message, `command_fields` its fields:
```
command_type: rebot_msgs/msg/MitJointCommand
command_fields: ['joint_names:names', 'position:position', 'velocity:velocity', 'kp:kp',
                 'kd:kd', 'effort:effort']
drive_kp: [20.0]
drive_kd: [1.0]
```
- After the colon: `effort`, `position`, `velocity`, `kp` or `kd` of all joints (an array of
  float64 or float32; `motors.*.tau` is a field of each message in an array), `names`, `stamp`, or
  a number that stays. Only efforts in a JointState: `['name:names', 'effort:effort']`.
- **The drive makes** effort + kp (position - q) + kd (velocity - qd). The controller subtracts the
  share of the gains from the effort, so that at the state that is answered the sum is the torque
  of the law. Gains act in modes with a reference; floating they are 0. Commanded is the reference
  half an interval later: about one that stands still they would brake an arm that follows.
- **Without `kp`** the position is the measured one, in which a spring of the drive adds nothing,
  and the velocity is 0. A damping that the drive always has is `drive_kd`, and is compensated.
  Set a stiffness k of the drive to 0 there: about a position that is old by pi sqrt(I / 2 k),
  13 ms for 30 N m/rad on a joint of 0.001 kg m^2, it swings a joint that has no damping.
- **In silence** the drive repeats the last command. With commanded gains a moving joint comes to
  rest after (|torque - g| + kd |qd|) / (kp - k), where g is its gravity torque and k = |dg/dq|;
  with kp below k nothing holds it, and with kp = 0 it falls as with efforts alone. The last
  command of a controller that ends holds the arm where it is. **An arm that falls then is not
  activated** by a node that sends the commands before somebody has said that it may
  (`silence.may_fall: true`): with gains below k, or where the drives damp or disable the motors
  without commands (`silence.drives`). The plugin of ros2_control does not check it.
- `effort_scale` is the effort of commands and states for 1 N m at the joint: a factor, a unit, a
  sign. `effort_quantum` is the size of the steps that the drive makes; torques are rounded to it.
- **A guard commands by the same message**: give it the same parameters. Its torque leaves as that
  of a mode without a reference, with gains of 0 or a compensated damping; its last command, too,
  holds the arm where it is.
"""
PAGE_HEAD = """\
# Parameters of the nodes
*Which parameters are there?*

Generated from the settings by `python test/parameter_file.py`. As files to copy:
[`config/controller.yaml`](../config/controller.yaml),
[`config/guard.yaml`](../config/guard.yaml),
[`config/simulator.yaml`](../config/simulator.yaml).
Most arms need fewer than ten; [tuning](tuning.md) has them.

**Per joint** is one number for all joints, or one for each in the model's order. *live* can be
changed while the node runs, with `ros2 param set /NODE NAME VALUE`: an invalid change is refused
with the reason, and changes nothing. All others are read at the start. Bounds and times that are
no parameters are fields of `Settings` ([Python library](api.md#control)).
"""
# what a copied file must not answer for its user
QUESTIONS = ('driver_compensates_gravity',)
TYPES = {'bool': 'true, false', 'int': 'whole number', 'double': 'number', 'string': 'text',
         'int_array': 'whole numbers', 'double_array': 'numbers', 'string_array': 'texts'}


def tables():
    """Return (what launches it, node, table) by the name of the file of parameters."""
    from robodyn_ros.nodes.controller import (
        node as controller, parameters as controller_parameters)
    from robodyn_ros.nodes.guard import node as guard, parameters as guard_parameters
    from robodyn_ros.nodes.simulator import node as simulator, parameters as simulator_parameters
    return {
        'controller.yaml': (
            'controller.launch.py', controller.NAME, controller_parameters.PARAMETERS),
        'guard.yaml': (
            'controller.launch.py guard:=true', guard.NAME, guard_parameters.PARAMETERS),
        'simulator.yaml': (
            'simulation.launch.py', simulator.NAME, simulator_parameters.PARAMETERS)}


def number(value):
    """Return a float as YAML 1.1 and ROS read it as a float."""
    if math.isinf(value):
        return '.inf' if value > 0.0 else '-.inf'
    mantissa, e, exponent = repr(value).partition('e')
    return (mantissa if '.' in mantissa else f'{mantissa}.0') + e + exponent


def scalar(value):
    """Return a value of a table as YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return number(value)
    return str(value) if isinstance(value, int) or value.isidentifier() else f"'{value}'"


def limits(row):
    """Return the range of a row in words; '' if there is none."""
    low, high = row.minimum, row.maximum
    if low is None:
        return ''
    if high in (None, math.inf):
        return f'{low:g} or more'
    return f'{low:g} to {high:g}'


def comment(row):
    """Return the lines above a row: what it does, then its facts."""
    facts = [row.unit, limits(row), f'one of {", ".join(row.choices)}' if row.choices else '',
             'per joint' if row.per_joint else '', '' if row.read_only else 'live']
    return [*textwrap.wrap(row.description, WIDTH - 10), '; '.join(filter(None, facts))]


def lines(table):
    """Yield the lines of a table, without the indentation of all."""
    group = ''
    for row in table:
        *above, name = row.name.split('.')
        indent = '  ' * len(above)
        yield ''
        if '.'.join(above) != group:
            group = '.'.join(above)
            if group:
                yield f'{group}:'
        yield from (f'{indent}# {line}' for line in comment(row) if line)
        value = (f'[{", ".join(map(scalar, row.default))}]' if row.is_array
                 else scalar(row.default))
        # ROS cannot determine the type of an empty list, and an empty text would hide the default
        # of a launch file
        unset = row.default in ((), '') or row.name in QUESTIONS
        yield f'{indent}{"# " if unset else ""}{name}: {value}'


def parameter_file(launch, node, table):
    """Return the text of a file of parameters."""
    body = [f'    {line}'.rstrip() for line in lines(table)]
    return '\n'.join([HEAD.format(launch=launch, node=node) + f'/**/{node}:',
                      '  ros__parameters:', *body[1:], ''])


def table_row(row):
    """Return a row of a table in Markdown."""
    default = ', '.join(map(scalar, row.default)) if row.is_array else scalar(row.default)
    kind = 'per joint' if row.per_joint else TYPES[row.kind]
    facts = [row.unit, limits(row)]
    about = [f'one of {", ".join(row.choices)}' if row.choices else
             '' if kind == 'number' and any(facts) else kind, *facts]
    cells = [f'`{row.name}`', '' if row.default in ((), '') else '`%s`' % default.strip("'"),
             '; '.join(filter(None, [*about, '' if row.read_only else '*live*'])),
             row.description]
    return '| ' + ' | '.join(cell.replace('|', '\\|').replace('<', '\\<') for cell in cells) + ' |'


def parameter_page():
    """Return the text of `docs/parameters.md`; what several nodes have alike stands once."""
    nodes = {}  # by row
    for launch, node, table in tables().values():
        for row in table:
            nodes.setdefault(table_row(row), []).append(f'`{node}`, started by `{launch}`')
    text = PAGE_HEAD
    for having in sorted(dict.fromkeys(map(tuple, nodes.values())), key=len, reverse=True):
        names = [each.partition(',')[0] for each in having]
        title = having[0] if len(having) == 1 else f'{", ".join(names[:-1])} and {names[-1]}'
        rows = '\n'.join(row for row, found in nodes.items() if tuple(found) == having)
        text += (f'\n## {title}\n| parameter | default | value | description |\n'
                 f'|---|---|---|---|\n{rows}\n')
    return text


def arms_page():
    """Return the text of `docs/arms.md`, from the profiles."""
    from robodyn_ros import arms

    text = ARMS_HEAD
    for name in arms.names():
        profile = arms.load(name)[1].named('')
        carried = ('The driver adds the gravity torque.'
                   if profile.parameters.driver_compensates_gravity else
                   'The driver adds no gravity torque: the controller carries the arm.')
        facts = [
            ('driver', profile.driver), ('joints', ', '.join(profile.joints)),
            ('gravity, limits', f'{carried} {profile.parameters.source}'),
            ('states', f'topic {profile.state.topic}, {profile.state.rate:g} Hz, velocity '
             f'{profile.state.velocity}, effort {profile.state.effort}; {profile.state.source}'),
            ('torques', f'{profile.command.way}, ' + (
                f'{profile.command.message} on {profile.command.topic}'
                if profile.command.message else
                f'interface {" ".join([*profile.command.others, profile.command.interface])}')
             + f'; {profile.command.source}'),
            ('silence', profile.command.in_silence),
            ('tried', profile.tried)]
        also = f'Also known as {", ".join(profile.also)}.\n' if profile.also else ''
        text += f'\n## {name}\n{profile.title}. {also}\n| | |\n|---|---|\n' + ''.join(
            f'| {key} | {_cell(value)} |\n' for key, value in facts) + '\n' + ''.join(
            f'{k}. {_cell(step.do)}. *Verified by*: {_cell(step.verify)}.\n'
            for k, step in enumerate(profile.steps.by_name.values(), 1))
    reasons = {}
    for name, why in arms.refused().items():
        reasons.setdefault(_cell(why), []).append(f'**{name}**')
    return text + '\n## Arms without torque control\n' + ''.join(
        f'- {", ".join(names)}: {why}.\n' for why, names in reasons.items())


def _cell(text):
    """Return a text in which Markdown sees no markup."""
    return re.sub(r'([|<*_])', r'\\\1', text.rstrip('.'))


def files():
    """Return the text of each file by its path."""
    return {**{ROOT / 'config' / file: parameter_file(*arguments)
               for file, arguments in tables().items()},
            ROOT / 'docs' / 'arms.md': arms_page(),
            ROOT / 'docs' / 'parameters.md': parameter_page()}


if __name__ == '__main__':
    sys.path.insert(0, str(ROOT))
    for path, text in files().items():
        path.write_text(text, encoding='utf-8')
        print(f'wrote {path.relative_to(ROOT)}')
