"""Guard and controller agree on who commands, whatever happens to either; without ROS."""

import math

import pytest
from robodyn_ros.control.turn_host import TurnHost
from robodyn_ros.exceptions import StateError
from robodyn_ros.safety import Guard, GuardState, Phase

TIMEOUT, LOOK = 0.1, 0.02
WATCHING, REFUSING, ARMED, COMMANDING, YIELDING, GONE = GuardState


class Guarded:
    """A guard that looks at regular times, as its node does."""

    def __init__(self, able=True):
        self.guard, self.now, self.able = Guard(TIMEOUT, 1.0), 100.0, able

    def run(self, duration, phase=None, look=LOOK):
        for _ in range(round(duration / look)):
            self.now += look
            if phase is not None:
                self.guard.heartbeat_received(phase)
            self.guard.update(self.now, self.able)
        return self.guard.state


@pytest.fixture
def watch():
    return Guarded()


@pytest.fixture
def commanding(watch):
    watch.run(0.2, Phase.ACTIVE)
    assert watch.run(0.2) is COMMANDING
    return watch


def test_nothing_is_taken_over_before_a_controller_was_active(watch):
    assert watch.run(1.0) is WATCHING
    assert watch.run(1.0, Phase.STANDBY) is WATCHING
    assert watch.run(1.0) is WATCHING
    assert not watch.guard.commands


def test_silence_is_answered_in_time(watch):
    assert watch.run(1.0, Phase.ACTIVE) is ARMED
    assert watch.run(TIMEOUT - LOOK) is ARMED
    assert watch.run(2 * LOOK) is COMMANDING
    assert watch.guard.commands and watch.guard.takeovers == 1
    assert 'no heartbeat of the controller for 0.1' in watch.guard.reason


def test_an_arm_that_was_never_seen_is_not_taken_over():
    watch = Guarded(able=False)
    assert watch.run(0.5, Phase.ACTIVE) is WATCHING
    assert 'the state of the arm' in watch.guard.reason
    assert watch.run(0.5) is WATCHING


def test_an_orderly_leave_disarms(watch):
    watch.run(0.2, Phase.ACTIVE)
    assert watch.run(0.02, Phase.STANDBY) is WATCHING
    assert watch.run(1.0) is WATCHING


def test_a_controller_that_ends_while_it_requests_is_replaced(watch):
    watch.run(0.2, Phase.ACTIVE)
    assert watch.run(0.2, Phase.ASKING) is ARMED
    assert watch.run(0.2) is COMMANDING


def test_a_pause_of_the_guard_is_no_silence_of_the_controller(watch):
    watch.run(0.2, Phase.ACTIVE)
    assert watch.run(5.0, look=5.0) is ARMED, 'a single poll is no evidence'
    assert watch.run(LOOK, Phase.ACTIVE) is ARMED
    assert watch.run(0.2) is COMMANDING


def test_a_returning_controller_gets_nothing_unasked(commanding):
    for phase in Phase:
        assert commanding.run(1.0, phase) is COMMANDING


def test_a_reset_gives_back_once_the_controller_commands(commanding):
    with pytest.raises(StateError, match='its heartbeat is silent'):
        commanding.guard.reset(commanding.now)
    commanding.run(0.1, Phase.STANDBY)
    commanding.guard.reset(commanding.now)
    assert commanding.run(0.3, Phase.STANDBY) is YIELDING
    assert commanding.guard.commands, 'at every moment one of them commands'
    assert commanding.run(0.02, Phase.ACTIVE) is ARMED
    with pytest.raises(StateError, match='nothing to reset'):
        commanding.guard.reset(commanding.now)


@pytest.mark.parametrize('phase, reason', [
    (None, 'silent again'), (Phase.STANDBY, 'no controller took over within 1 s')])
def test_the_arm_is_kept_if_no_controller_takes_it(commanding, phase, reason):
    commanding.run(0.1, Phase.STANDBY)
    commanding.guard.reset(commanding.now)
    assert commanding.run(1.1, phase) is COMMANDING
    assert reason in commanding.guard.reason and commanding.guard.takeovers == 1


@pytest.mark.parametrize('pause', [0.06, 1.0])
def test_a_guard_that_was_held_up_receives_before_it_commands(commanding, pause):
    commanding.run(pause, look=pause)
    assert not commanding.guard.commands
    assert commanding.run(0.06) is COMMANDING and commanding.guard.commands
    commanding.run(pause, look=pause)
    assert commanding.run(LOOK, Phase.ACTIVE) is ARMED, 'the controller has taken the arm back'


def test_after_its_own_pause_a_guard_gives_the_arm_to_a_controller_that_commands_only(commanding):
    """
    Protects an arm from two commanders, and from none, after the guard itself was held up.

    The phase received last before the takeover was ACTIVE: it is no sign of life. A controller
    that stands by, or requests, does not command.
    """
    assert commanding.run(0.06, look=0.06) is COMMANDING
    for phase in (Phase.STANDBY, Phase.ASKING):
        commanding.run(1.0, look=1.0)
        assert commanding.run(LOOK, phase) is COMMANDING
    assert commanding.guard.takeovers == 1


@pytest.mark.parametrize('phase', [Phase.STANDBY, Phase.ASKING])
def test_only_a_controller_that_commands_is_guarded_or_given_the_arm(commanding, phase):
    """Protects from a guard that is armed, or releases the arm, before the controller commands."""
    assert Guarded().run(0.2, phase) is WATCHING
    commanding.run(0.1, phase)
    commanding.guard.reset(commanding.now)
    assert commanding.run(0.1, phase) is YIELDING


def test_a_reset_is_answered_by_a_heartbeat_from_after_it(commanding):
    """Protects from giving the arm back because of a heartbeat received before the reset."""
    commanding.run(0.1, Phase.ACTIVE)
    commanding.guard.reset(commanding.now)
    assert commanding.run(LOOK) is YIELDING and commanding.guard.commands
    assert commanding.run(LOOK, Phase.ACTIVE) is ARMED


def test_a_controller_that_was_gone_before_it_could_be_refused_is_gone(watch):
    """Protects the state of a guard: it refuses only controllers whose heartbeats it receives."""
    watch.run(0.1, Phase.STANDBY)
    assert watch.run(0.15) is WATCHING
    watch.guard.refusal = 'effort_margin differs'
    assert watch.run(LOOK) is WATCHING


class Controlled:
    """A controller that turns every 5 ms, with a guard that answers or not."""

    def __init__(self, **options):
        self.turns = TurnHost(**{'required': False, 'timeout': 0.5, **options})
        self.now, self.stamp = 50.0, 0
        self.permitted = True

    def run(self, duration=0.005, word=None, echo=0, turn=0.005):
        turns = self.turns
        for _ in range(round(duration / turn)):
            self.now += turn
            if word is not None:
                turns.guard_heard(self.now, word, echo)
            self.permitted = turns.begin(self.now)
            if self.permitted:
                turns.sent(self.now)
            self.stamp += 1
            self.phase = turns.heartbeat(self.now, self.stamp)
        return self.permitted


def test_without_a_guard_nothing_is_deferred():
    alone = Controlled()
    assert alone.run(1.0) and alone.run(2.0, turn=2.0)
    assert not alone.turns.problem and not alone.turns.refusal
    assert alone.phase is Phase.ACTIVE
    assert not alone.turns.withheld(alone.now + 1.0), 'there is nothing to request'


def test_a_controller_that_was_held_up_waits_for_an_answer_to_its_own_question():
    held = Controlled()
    assert held.run(0.1, ARMED)
    before = held.stamp
    assert not held.run(1.0, turn=1.0)
    assert held.phase is Phase.ASKING
    assert not held.run(0.1, ARMED, echo=before), 'that was sent before the pause'
    assert held.run(0.01, ARMED, echo=before + 1)
    assert held.phase is Phase.ACTIVE


def test_held_up_again_a_controller_waits_for_an_answer_to_its_last_question():
    """Protects from an answer to a question from before the second pause."""
    held = Controlled()
    held.run(0.1, ARMED)
    held.run(1.0, turn=1.0)
    first = held.stamp
    held.run(1.0, turn=1.0)
    assert not held.run(0.01, ARMED, echo=first)
    assert held.run(0.01, ARMED, echo=first + 1)


def test_a_pause_of_its_own_is_no_silence_of_the_guard():
    """Protects a controller from missing a guard whose state is still to be read."""
    held = Controlled(required=True)
    held.run(0.1, ARMED, echo=1)
    held.run(1.0, turn=1.0)
    assert not held.turns.guard_silent and not held.turns.problem


def test_a_guard_that_ends_in_good_order_answers_all_requests():
    """Protects a controller from waiting for a guard that is gone, unless there must be one."""
    held, required = Controlled(), Controlled(required=True)
    for one in (held, required):
        one.run(0.1, ARMED, echo=1)
        one.run(1.0, turn=1.0)
        assert one.run(0.01, GONE)
    assert not held.turns.problem
    assert 'there is no guard' in required.turns.problem


def test_a_controller_defers_to_a_guard_that_took_over_meanwhile():
    held = Controlled()
    held.run(0.1, ARMED)
    held.run(1.0, turn=1.0)
    assert not held.run(0.1, COMMANDING, echo=math.inf)
    assert held.phase is Phase.STANDBY
    assert 'taken over' in held.turns.problem
    assert '~/reset' in held.turns.refusal
    assert held.run(0.01, YIELDING, echo=math.inf)
    assert not held.turns.problem and not held.turns.refusal


@pytest.mark.parametrize('options', [{}, {'expected': True}, {'required': True}])
def test_a_controller_does_not_take_an_arm_over_that_a_guard_watches_for_another_one(options):
    """ROS may discover the other one's torques long after its guard."""
    second = Controlled(**options)
    second.run(0.1, ARMED, echo=math.inf)
    assert 'another controller' in second.turns.refusal and not second.turns.problem
    second.run(0.01, WATCHING, echo=math.inf)
    assert not second.turns.refusal


def test_a_pause_within_a_turn_is_noticed_before_the_torque_goes_out():
    held = Controlled()
    held.run(0.1, ARMED)
    assert not held.turns.withheld(held.now + 0.01)
    assert held.turns.withheld(held.now + 1.0)
    assert held.turns.heartbeat(held.now + 1.0, held.stamp + 1) is Phase.ASKING


@pytest.mark.parametrize('word', [ARMED, COMMANDING])
def test_a_guard_that_dies_hands_the_arm_to_the_controller(word):
    left = Controlled()
    left.run(0.1, word)
    assert not left.turns.guard_silent
    assert left.run(0.6) and left.turns.guard_silent
    assert left.phase is Phase.ACTIVE
    assert not left.turns.problem and not left.turns.refusal


def test_a_guard_that_does_not_answer_is_waited_for_in_vain_but_not_for_ever():
    held = Controlled()
    held.run(0.1, ARMED)
    held.run(1.0, turn=1.0)
    assert not held.run(0.4)
    assert held.run(0.2)
    assert held.turns.guard_silent


def test_a_required_guard_is_missed_and_an_expected_one_only_at_first():
    required = Controlled(required=True, expected=True)
    expected = Controlled(expected=True)
    assert 'there is no guard' in required.turns.problem
    assert not expected.turns.problem
    for one in (required, expected):
        assert 'no message of the guard' in Controlled(expected=True).turns.refusal
        one.run(0.1, WATCHING)
        assert 'no message' in one.turns.refusal
        one.run(0.1, WATCHING, echo=1)
        assert not one.turns.refusal
        one.run(0.1, WATCHING)
        assert 'no message' in one.turns.refusal, (
            'another guard has come, and compared nothing')
        one.run(0.1, WATCHING, echo=1)
        one.run(0.6)
        assert one.turns.refusal
    assert 'the guard is silent' in required.turns.problem
    assert not expected.turns.problem


def test_a_guard_that_would_command_otherwise_is_not_armed():
    watch = Guarded()
    watch.guard.refusal = 'effort_margin differs'
    assert watch.run(0.1) is WATCHING and 'no heartbeat' in watch.guard.reason
    assert watch.run(0.1, Phase.ACTIVE) is REFUSING
    assert watch.guard.reason == 'effort_margin differs'
    assert watch.run(0.15) is REFUSING, 'a controller that is held up'
    assert watch.run(0.5) is WATCHING, 'and does not take over'
    watch.guard.refusal = ''
    assert watch.run(0.1, Phase.ACTIVE) is ARMED
    watch.guard.refusal = 'effort_margin differs'
    assert watch.run(0.1, Phase.ACTIVE) is ARMED, 'better than none'
    assert watch.run(0.2) is COMMANDING


def test_a_controller_whose_guard_refuses_does_not_begin_if_it_needs_one():
    required, expected, free = (Controlled(required=True, expected=True),
                                Controlled(expected=True), Controlled())
    for one in (required, expected, free):
        one.run(0.1, REFUSING, echo=math.inf)
        assert ('refuses' in one.turns.refusal) == (one is not free)
        assert ('refuses' in one.turns.problem) == (one is required)


def test_after_a_pause_the_state_of_the_guard_is_received_before_the_controller_begins():
    held = Controlled(expected=True)
    held.run(0.1, REFUSING, echo=1)
    held.run(1.0, turn=1.0)
    # it missed the heartbeat meanwhile, and took the controller for gone
    held.run(0.01, WATCHING, echo=1)
    assert 'no message of the guard' in held.turns.refusal
    held.run(0.01, REFUSING, echo=math.inf)
    assert 'refuses' in held.turns.refusal


def test_a_guard_that_ends_in_good_order_is_not_missed():
    left = Controlled()
    left.run(0.1, ARMED)
    left.run(0.1, GONE)
    assert left.run(2.0) and not left.turns.guard_silent


class World:
    """Both of them, millisecond by millisecond; a message takes 3 ms to the other."""

    DELAY = 0.003

    def __init__(self):
        self.watch, self.one = Guarded(), Controlled()
        self.now = self.one.now = self.watch.now
        self._turn = self._look = self.now
        self._beats, self._words, self._echo = [], [], 0
        self.commands, self.both = False, 0

    def run(self, duration, paused=False):
        for _ in range(round(duration / 1e-3)):
            self.now += 1e-3
            self._guard()
            if not paused:
                self._controller()
                self.both += self.commands and self.watch.guard.commands

    def _guard(self):
        guard = self.watch.guard
        while self._beats and self._beats[0][0] <= self.now:
            _, phase, self._echo = self._beats.pop(0)
            guard.heartbeat_received(phase)
        if self.now >= self._look:
            self._look = self.now + LOOK
            word = guard.update(self.now, True)
            self._words.append((self.now + self.DELAY, word, self._echo))

    def _controller(self):
        if self.now < self._turn:
            return
        self._turn, turns = self.now + 0.005, self.one.turns
        while self._words and self._words[0][0] <= self.now:
            turns.guard_heard(self.now, *self._words.pop(0)[1:])
        self.commands = turns.begin(self.now)
        if self.commands:
            turns.sent(self.now)
        self.one.stamp += 1
        phase = turns.heartbeat(self.now, self.one.stamp)
        self._beats.append((self.now + self.DELAY, phase, self.one.stamp))


@pytest.mark.parametrize('pause', [0.04, 0.06, 0.09, 0.12, 0.3, 2.0])
def test_never_do_both_command(pause):
    world = World()
    world.run(0.5)
    assert world.commands and world.watch.guard.state is ARMED
    world.run(pause, paused=True)
    world.run(0.5)
    assert not world.both
    took = world.watch.guard.takeovers == 1
    assert took == (pause > TIMEOUT) or abs(pause - TIMEOUT) < 0.03
    assert world.commands != took, 'at the end one of them commands'


def test_a_guard_that_was_held_up_receives_before_it_reports_that_it_commands():
    """Protects from a controller that stops for a guard which has not received anything yet."""
    guard = Guard(0.2)
    guard.heartbeat_received(Phase.ACTIVE)
    now = 0.0
    while guard.state is not GuardState.COMMANDING:
        now += 0.01
        guard.update(now, True)
    assert guard.commands and not guard.observing
    now += 1.0
    guard.update(now, True)
    assert guard.observing and not guard.commands
    guard.heartbeat_received(Phase.ACTIVE)
    assert guard.update(now + 0.01, True) is GuardState.ARMED
    assert not guard.observing


@pytest.mark.parametrize('phase', [Phase.STANDBY, Phase.ACTIVE, Phase.ASKING])
def test_another_controller_neither_disarms_the_guard_nor_keeps_it_from_taking_over(watch, phase):
    """Protects from a forgotten second controller, whose standby would disarm the guard."""
    guard = watch.guard
    for _ in range(20):
        guard.heartbeat_received(Phase.ACTIVE, b'own')
        guard.heartbeat_received(phase, b'other')
        watch.run(LOOK)
    assert guard.state is ARMED and guard.foreign == b'other'
    for _ in range(10):  # the own one has died
        guard.heartbeat_received(phase, b'other')
        watch.run(LOOK)
    assert guard.state is COMMANDING and guard.takeovers == 1
    # a new controller may have the arm after a reset
    for _ in range(5):
        guard.heartbeat_received(Phase.STANDBY, b'other')
        watch.run(LOOK)
    guard.reset(watch.now)
    guard.heartbeat_received(Phase.ACTIVE, b'other')
    assert watch.run(LOOK) is ARMED


@pytest.mark.parametrize('first, second, guarded', [
    (Phase.STANDBY, Phase.ACTIVE, b'second'),   # one waits, the other begins
    (Phase.STANDBY, Phase.ASKING, b'second'),
    (Phase.STANDBY, Phase.STANDBY, b'first'),
    (Phase.ASKING, Phase.ACTIVE, b'first')])
def test_of_two_controllers_that_live_the_guard_follows_the_one_that_begins(
        watch, first, second, guarded):
    guard = watch.guard
    for _ in range(10):
        guard.heartbeat_received(first, b'first')
        guard.heartbeat_received(second, b'second')
        watch.run(LOOK)
        assert guard.source == guarded
    # the one that is followed is silent: what it commanded is taken over
    for _ in range(10):
        if guarded == b'second':
            guard.heartbeat_received(first, b'first')
        watch.run(LOOK)
    assert guard.commands == (guarded == b'second' and second is Phase.ACTIVE)


def test_a_guard_that_was_held_up_does_not_yield_to_another_controller(watch):
    guard = watch.guard
    guard.heartbeat_received(Phase.ACTIVE, b'own')
    assert watch.run(2 * TIMEOUT) is COMMANDING
    watch.now += 1.0
    guard.update(watch.now, True)
    assert guard.observing
    guard.heartbeat_received(Phase.ACTIVE, b'other')
    assert watch.run(LOOK) is COMMANDING
