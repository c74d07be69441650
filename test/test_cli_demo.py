"""The `robodyn` command and the parts of `robodyn demo` that need neither ROS nor time."""
from collections import namedtuple
import io
import os
from pathlib import Path
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from robodyn_ros.cli.demo.findings import drift, Findings, match, MotionRun
from robodyn_ros.cli.main import main, USER_MISTAKE
from robodyn_ros.cli.terminal import Steps
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes import children as processes, domain
from robodyn_ros.nodes.children import Children, CpuMeter, ProcessError
from robodyn_ros.simulation.motion import plan_motion
from robodyn_ros.text import Criterion, number, shortened, table, verdict

ROOT = Path(__file__).resolve().parents[1]
# as `nodes.recorder.JointLog`, which needs ROS
Log = namedtuple('Log', 'stamp sent position velocity effort')


def log(stamps, positions):
    """Return a log of one joint."""
    stamps = np.array(stamps, dtype=np.int64)
    position = np.array(positions, dtype=float)[:, None]
    return Log(stamps, stamps, position, 0.0 * position, 10.0 * position)


# --- the command -------------------------------------------------------------------------------

@pytest.mark.parametrize('arguments', [['--help'], ['demo', '--help']])
def test_help_has_examples(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    text = capsys.readouterr().out
    assert ended.value.code == 0
    assert 'robodyn demo --urdf' in text


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(['--version'])
    assert 'robodyn_ros' in capsys.readouterr().out


@pytest.mark.parametrize('arguments', [
    [], ['dance'], ['demo', '--speed', '2'], ['demo', '--rate', 'fast'],
    ['demo', '--duration', 'nan']])
def test_wrong_arguments_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == USER_MISTAKE
    line, = capsys.readouterr().err.splitlines()  # without the usage
    assert line.startswith('robodyn') and line.endswith(' --help')


@pytest.mark.parametrize('arguments, words', [
    (['--urdf', '/there/is/none.urdf'], 'none.urdf'),
    (['--lock', 'joint1'], 'joint1'),
    (['--tip', 'hand'], 'hand')])
def test_a_mistake_is_one_message(arguments, words, capsys, monkeypatch, tmp_path):
    pytest.importorskip('rclpy', reason='the demo needs ROS 2')
    monkeypatch.setattr('signal.signal', lambda *_: None)
    code = main(['demo', '--output', str(tmp_path), *arguments])
    error = capsys.readouterr().err
    assert code == USER_MISTAKE
    assert error.startswith('robodyn demo: ')
    assert words in error
    assert 'Traceback' not in error
    assert len(error.strip().splitlines()) == 1


def test_debug_shows_where_it_happened(monkeypatch, tmp_path):
    pytest.importorskip('rclpy', reason='the demo needs ROS 2')
    monkeypatch.setattr('signal.signal', lambda *_: None)
    with pytest.raises(RobodynError):
        main(['demo', '--debug', '--output', str(tmp_path), '--urdf', '/there/is/none.urdf'])


def test_without_ros_the_error_names_the_remedy(tmp_path):
    code = ('import sys; sys.modules["rclpy"] = None; '
            'from robodyn_ros.cli.main import main; sys.exit(main(["demo"]))')
    run = subprocess.run([sys.executable, '-c', code], cwd=tmp_path, text=True,
                         capture_output=True, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    assert run.returncode == USER_MISTAKE
    assert 'rclpy' in run.stderr
    assert "pip install 'robodyn_ros[ros]'" in run.stderr
    assert 'Traceback' not in run.stderr


# --- figures -----------------------------------------------------------------------------------

def test_states_are_matched_by_their_stamps():
    tracking = match(log([10, 20, 30, 40], [0.0, 0.1, 0.2, 0.3]),
                     log([0, 10, 30, 50], [9.0, 0.5, 0.6, 9.0]), np.array([False]))
    assert (tracking.states, tracking.missed) == (4, 2)
    np.testing.assert_allclose(tracking.error[:, 0], [0.5, 0.4])
    np.testing.assert_allclose(tracking.time, [0.0, 2e-8])
    np.testing.assert_allclose(tracking.rms, np.sqrt((0.25 + 0.16) / 2))
    np.testing.assert_allclose(tracking.peak_torque, 6.0)


def test_errors_of_continuous_joints_go_the_short_way():
    states, references = log([1], [3.1]), log([1], [-3.1])
    turn = 2.0 * np.pi
    assert match(states, references, np.array([True])).error == pytest.approx(turn - 6.2)
    assert match(states, references, np.array([False])).error == pytest.approx(-6.2)
    assert drift(np.array([[3.1], [-3.1]]), np.array([True])) == pytest.approx(turn - 6.2)


def test_nothing_in_common_is_an_error():
    with pytest.raises(StateError, match='2 states and 1 references'):
        match(log([1, 2], [0.0, 0.0]), log([3], [0.0]), np.array([False]))


# --- text --------------------------------------------------------------------------------------

@pytest.mark.parametrize('value, text', [
    (0.0, '0'), (1e-5, '<0.001'), (0.0123, '0.012'), (-1.234, '-1.23'), (12.34, '12.3'),
    (1234.5, '1234'), (float('nan'), '-'), (float('inf'), '-')])
def test_number(value, text):
    assert number(value) == text


def test_a_table_fits_its_width():
    names = [f'a_rather_long_prefix_of_joint_{k}' for k in range(3)]
    lines = table(('joint', 'RMS', 'max', 'peak'), [(name, '1', '22', '333') for name in names],
                  ('', 'error (mrad)', 'error (mrad)', 'torque'), width=40)
    assert all(len(line) <= 40 for line in lines)
    assert len({line.split()[0] for line in lines[-3:]}) == 3, 'cut names must still differ'
    heads = lines[1]
    assert lines[0].index('error (mrad)') + len('error (mrad)') == heads.index('max') + len('max')


def test_shortened():
    assert shortened('joint', 8) == 'joint'
    assert shortened('left_elbow', 6) == '~elbow'


def test_verdict():
    good, bad = Criterion('error below 1', '0.5', True), Criterion('drift below 1', '2', False)
    assert verdict([good])[-1] == 'all 1 criteria hold'
    lines = verdict([good, bad])
    assert [line.split()[0] for line in lines[:2]] == ['pass', 'FAIL']
    assert lines[-1] == '1 of 2 criteria failed'


def test_what_cannot_be_judged_is_no_failure():
    good, unknown = Criterion('drift below 1', '0.5', True), Criterion('late below 1', '2', None)
    lines = verdict([good, unknown])
    assert lines[1].startswith('busy')
    assert '1 of 2 criteria hold' in lines[-1]


def test_steps_are_plain_lines_where_no_terminal_is():
    stream = io.StringIO()
    steps = Steps(stream)
    with steps('hold') as step:
        steps.tick()
        step.result = 'still'
    with pytest.raises(KeyError), steps('move'):
        raise KeyError
    lines = stream.getvalue().splitlines()
    assert [line.split()[-1] for line in lines] == ['still', 'failed']
    assert '\r' not in stream.getvalue()


def test_a_long_step_is_not_silent_where_no_terminal_is(monkeypatch):
    monkeypatch.setattr('robodyn_ros.cli.terminal._REMINDER', 0.01)
    stream, end = io.StringIO(), time.monotonic() + 60.0
    with Steps(stream)('search') as step:
        step._steps.tick('condition number 7')
        while 'condition number 7' not in stream.getvalue():
            assert time.monotonic() < end
            time.sleep(0.01)
        ended = step._steps._ended
        step.result = 'found'
    assert ended.is_set()
    lines = stream.getvalue().splitlines()
    assert all('s  search' in line for line in lines) and lines[-1].endswith('found')


def test_the_controller_compensates_the_friction_that_the_demo_simulates(tmp_path):
    pytest.importorskip('rclpy', reason='the session needs ROS 2')
    from robodyn_ros.client.session import Session
    text = (ROOT / 'urdf/robodyn7.urdf').read_text().replace('damping="0.004"', 'damping="2.0"')
    model = RobotModel.from_urdf(text)
    assert any('placeholder' in each for each in model.warnings)
    session = Session(SimpleNamespace(parameters=dict), model, np.zeros(7), 1e3, tmp_path)
    session.recorder = SimpleNamespace(references=(), wait=lambda *_: True, close=lambda: None)
    given = {}
    session._child = lambda name, parameters: given.update(parameters)
    with session:
        session.start_controller()
    np.testing.assert_array_equal(given['friction.viscous'], model.damping)
    np.testing.assert_array_equal(given['friction.coulomb'], model.friction)


@pytest.mark.parametrize('keeps, fails', [(True, False), (False, False), (False, True)])
def test_logs_that_are_kept_are_named(keeps, fails, tmp_path, monkeypatch, capsys):
    pytest.importorskip('rclpy', reason='the session needs ROS 2')
    from robodyn_ros.cli.demo import command
    from robodyn_ros.client.session import Session

    def started(session):
        for name in ('simulator', 'controller'):
            log = tmp_path / f'robodyn_demo_{name}.log'
            log.touch()
            setattr(session, name, SimpleNamespace(log=log))

    monkeypatch.setattr(command.signal, 'signal', lambda *_: None)
    monkeypatch.setenv('ROS_DOMAIN_ID', '63')
    monkeypatch.setattr(Session, 'start', started)

    def run():
        if fails:
            raise StateError('the motion is refused')

    monkeypatch.setattr(command, 'Scenario', lambda *_: SimpleNamespace(run=run))
    monkeypatch.setattr(command, '_conclude_all', lambda *_: 0)
    assert main(['demo', '--output', str(tmp_path), *(['--keep-logs'] if keeps else [])]
                ) == (USER_MISTAKE if fails else 0)
    said = capsys.readouterr().out
    logs = sorted(tmp_path.glob('*.log'))
    assert len(logs) == 2 * (keeps or fails) and all(str(log) in said for log in logs)


def test_a_demo_that_starts_no_process_names_no_logs(tmp_path, monkeypatch, capsys):
    pytest.importorskip('rclpy', reason='the session needs ROS 2')
    from robodyn_ros.client.session import Session
    monkeypatch.setattr('signal.signal', lambda *_: None)
    monkeypatch.setenv('ROS_DOMAIN_ID', '63')

    def start(_session):
        raise StateError('another node publishes joint_states')

    monkeypatch.setattr(Session, 'start', start)
    assert main(['demo', '--output', str(tmp_path)]) == USER_MISTAKE
    assert 'logs' not in ''.join(capsys.readouterr())


def test_a_terminal_sees_the_time_pass():
    stream = io.StringIO()
    stream.isatty = lambda: True
    with Steps(stream)('hold') as step:
        step.result = 'still'
    assert stream.getvalue().count('\r') == 2
    assert stream.getvalue().endswith('still\n')


# --- findings ----------------------------------------------------------------------------------

@pytest.fixture
def findings():
    """Return invented findings of an arm that does well."""
    model = RobotModel.from_urdf(ROOT / 'urdf' / 'robodyn7.urdf')
    motion = plan_motion(Dynamics(model))
    found = Findings(model, motion)
    path = motion.trajectory().dense(0.001)
    stamps = np.arange(len(path.times), dtype=np.int64) * 1_000_000
    reference = Log(stamps, stamps + 300_000, path.q, path.qd, 0.5 * model.effort_limit + path.q)
    for name, error in (('tracking', 1e-4), ('without_gravity', 1e-2)):
        states = Log(stamps, stamps, path.q - error, path.qd, path.q)
        setattr(found, name, match(states, reference, model.continuous))
    found.run = MotionRun(motion, 0, 0, 1, '')
    found.hold = found.floating = found.after_exit = np.full(model.nv, 1e-5)
    found.terms = {name: (path.times, path.q) for name in ('gravity', 'feedback')}
    found.cpu = {'controller': 0.5, 'others': 0.9}
    found.diagnostics = [('/arm: controller', {'loop': 'native', **{
        f'computation {p} (us)': '250' for p in ('p50', 'p99', 'max')}})]
    return found


def test_tables_fit_a_terminal(findings):
    lines = [*findings.joints(), *findings.loop(), *verdict(findings.criteria()),
             *findings.notes()]
    assert all(len(line) <= 100 for line in lines)
    text = '\n'.join(lines)
    for expected in (*findings.model.joint_names, 'mrad', '250', 'loop: native', 'other programs'):
        assert expected in text


def test_an_unstable_equilibrium_is_named(findings):
    findings.after_exit = np.full(findings.model.nv, 0.1)
    for angle, named in ((0.3, True), (2.8, False)):  # of the shoulder: upright, hanging
        findings.tracking.q[-1] = [0.0, angle, 0.0, 0.0, 0.0, 0.0, 0.0]
        assert ('unstable equilibrium' in ' '.join(findings.notes())) == named


@pytest.mark.parametrize('field, words', [
    ('hold', 'hold'), ('floating', 'float'), ('after_exit', 'after exit')])
def test_each_criterion_can_fail(findings, field, words):
    assert all(each.passed for each in findings.criteria())
    setattr(findings, field, np.array([0.0] * 6 + [1.0]))
    failed = [each for each in findings.criteria() if not each.passed]
    assert len(failed) == 1
    assert failed[0].text.startswith(words)
    assert failed[0].measured == '1000 mrad (joint7)'


@pytest.mark.parametrize('share, passed', [(0.005, True), (0.02, False)])
def test_motors_that_give_all_they_have_are_a_failure(findings, share, passed):
    findings.cpu['others'] = 0.0
    limit = findings.model.effort_limit
    torque = findings.tracking.torque.copy()
    # as the controller sends it: cut to the limit
    torque[:int(share * len(torque)), 1] = -limit[1]
    findings.tracking = findings.tracking._replace(torque=torque)
    criterion, = (each for each in findings.criteria() if 'saturated' in each.text)
    assert criterion.passed is passed
    assert criterion.measured.endswith('%, peak 100 % (joint2)')


def test_motion_and_exit_are_judged(findings):
    findings.cpu['others'] = 0.0
    findings.tracking = findings.tracking._replace(
        error=findings.without_gravity.error,
        torque=0.0 * findings.tracking.torque + findings.model.effort_limit,
        states=10_000)
    findings.exit_code = 1
    findings.run = findings.run._replace(problem='a fault')
    assert sum(not each.passed for each in findings.criteria()) == 5


def test_a_busy_machine_is_no_failure(findings):
    findings.tracking = findings.tracking._replace(
        states=10_000, error=findings.without_gravity.error)
    assert [each.passed for each in findings.criteria()].count(None) == 2
    findings.cpu['others'] = 0.0
    assert [each.passed for each in findings.criteria()].count(False) == 2


def test_recordings_are_written(findings, tmp_path):
    findings.save(tmp_path / 'demo.npz')
    with np.load(tmp_path / 'demo.npz') as saved:
        assert saved['joint_names'].tolist() == list(findings.model.joint_names)
        np.testing.assert_array_equal(saved['time'], findings.tracking.time)
        np.testing.assert_allclose(saved['q'], findings.tracking.q, rtol=1e-6)
        np.testing.assert_allclose(saved['term_gravity'], findings.terms['gravity'][1], rtol=1e-6)


def test_picture(findings, tmp_path):
    pytest.importorskip('matplotlib', reason='there is no picture without it')
    from robodyn_ros.cli.demo.plot import plot
    plot(findings, tmp_path / 'demo.png')
    data = (tmp_path / 'demo.png').read_bytes()
    size = int.from_bytes(data[16:20], 'big'), int.from_bytes(data[20:24], 'big')
    assert size == (1600, 1000)


# --- processes and domains ---------------------------------------------------------------------

def start(children, tmp_path, statement):
    """Start a process that runs a statement, and wait until it does."""
    statements = f'print(1, flush=True)\n{statement}'
    child = children.start('worker', 'timeit', ['-n1', '-r1', statements], tmp_path / 'worker.log')
    end = time.monotonic() + 20.0
    while not child.log.read_text() and time.monotonic() < end:
        time.sleep(0.01)
    return child


@pytest.fixture
def children(monkeypatch):
    monkeypatch.setattr(processes, '_PATIENCE', (0.2, 5.0))  # a job of a shell ignores SIGINT
    made = Children()
    yield made
    made.stop()


def test_the_error_of_an_ended_process_contains_its_last_message(children, tmp_path):
    child = start(children, tmp_path, 'raise ValueError("no such arm")')
    while child.exit_code is None:
        time.sleep(0.01)
    with pytest.raises(ProcessError, match='exit code 1.; last message: .*no such arm'):
        children.check()
    child.log.write_text('[ERROR] [1700000000.5] [node]: no effort limit\n'
                         '[INFO] [1700000000.6] [node]: bye\n')
    with pytest.raises(ProcessError, match=': no effort limit '):
        children.check()
    child.log.write_text('[INFO] [1700000000.6] [node]: bye\n')
    with pytest.raises(ProcessError, match='; last message: bye .its log'):
        children.check()
    child.may_end = True
    children.check()


def test_stop_ends_processes(children, tmp_path):
    child = start(children, tmp_path, 'import time; time.sleep(60)')
    children.check()
    children.stop()
    assert child.exit_code is not None


def test_stop_ends_stubborn_processes(children, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, '_PATIENCE', (0.2, 0.2))
    child = start(children, tmp_path, 'import signal, time\n'
                  'for number in (2, 15): signal.signal(number, 1)\n'
                  'print(1, flush=True); time.sleep(60)')
    while child.log.read_text().count('1') < 2:
        time.sleep(0.01)
    children.stop()
    assert child.exit_code == -9


@pytest.mark.skipif(not Path('/proc/stat').exists(), reason='Linux only')
def test_processor_time_is_measured(children, tmp_path):
    meter = CpuMeter([start(children, tmp_path, 'while True: pass')])
    end = time.monotonic() + 20.0
    while not (shares := meter.shares())['worker'] and time.monotonic() < end:
        time.sleep(0.01)
    assert set(shares) == {'worker', 'this process', 'others'}
    assert shares['worker'] > 0.0
    assert all(share >= 0.0 for share in shares.values())


def test_a_domain_that_is_in_use_or_chosen_already_is_not_chosen(monkeypatch):
    monkeypatch.setattr(domain, '_claims', [])
    free = domain.free_domain()
    domain._claims.pop().close()
    monkeypatch.setattr(domain, '_DOMAINS', range(free, free + 1))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(('', 7410 + 250 * free))
        with pytest.raises(RobodynError, match='in use'):
            domain.free_domain()
    assert domain.free_domain() == free
    domain._claims.pop().close()
    monkeypatch.setattr(domain.os, 'environ', {'ROS_DOMAIN_ID': str(free)})
    domain.isolate()  # a given one is reserved as well
    with pytest.raises(RobodynError, match='in use'):
        domain.free_domain()  # it is reserved now


@pytest.mark.parametrize('given, own, discovery', [
    ('', {}, 'SYSTEM_DEFAULT'), ('42', {}, 'SYSTEM_DEFAULT'),
    ('', {'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}, 'LOCALHOST'),
    ('', {'FASTDDS_DEFAULT_PROFILES_FILE': '/own.xml'}, 'LOCALHOST')])
def test_ros_stays_on_this_machine(given, own, discovery, monkeypatch):
    environment = {'ROS_DOMAIN_ID': given, 'ROS_STATIC_PEERS': '10.0.0.1', **own}
    monkeypatch.setattr(domain.os, 'environ', environment)
    monkeypatch.setattr(domain, 'version', lambda _: '9.1.2')
    chosen = domain.isolate()
    assert environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] == discovery
    profile = environment.get('FASTDDS_DEFAULT_PROFILES_FILE', '')
    assert profile.endswith('config/fastdds.xml') is (discovery == 'SYSTEM_DEFAULT')
    assert 'ROS_STATIC_PEERS' not in environment
    assert chosen == environment['ROS_DOMAIN_ID'] == (given or chosen)
    assert 1 <= int(chosen) <= 101
