"""Consent of the user to a motion: Enter never moves an arm."""

from __future__ import annotations

import argparse

from robodyn_ros.exceptions import ParameterError


def add_consent_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a command that moves an arm."""
    parser.add_argument('--yes', action='store_true', help='do not ask before the arm moves; only '
                        'with --at-the-stop')
    parser.add_argument('--at-the-stop', action='store_true', help='with --yes: somebody watches '
                        'the arm, with a hand on its emergency stop')


def check_consent(options: argparse.Namespace, simulated: bool = False) -> None:
    """Raise `ParameterError` if nobody is asked and nobody watches, unless it is simulated."""
    if options.yes and not (options.at_the_stop or simulated):
        raise ParameterError(
            '--yes moves an arm without asking: add --at-the-stop if somebody watches it with a '
            'hand on its emergency stop, or leave out --yes')


def agreed(question: str) -> bool:
    """Ask until the answer is yes or no; return whether it is yes. The end of input is no."""
    while True:
        try:
            answer = input(f'{question} [y: yes, q: no] ').strip().lower()
        except EOFError:
            return False
        if answer in ('y', 'yes'):
            return True
        if answer in ('q', 'n', 'no', 'quit'):
            return False
