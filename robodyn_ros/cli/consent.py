"""Consent of the user to a motion."""

from __future__ import annotations


def agreed(question: str) -> bool:
    """Ask until the answer is yes or no; return whether it is yes. The end of input is no."""
    while True:
        try:
            answer = input(f'{question}Go on? [Enter: yes, q: stop] ').strip().lower()
        except EOFError:
            return False
        if answer in ('', 'y', 'yes'):
            return True
        if answer in ('q', 'n', 'no', 'quit'):
            return False
