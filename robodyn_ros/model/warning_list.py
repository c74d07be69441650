"""List of warnings about a robot."""

MAX_NAMES = 3
MAX_WARNINGS = 200


class WarningList:
    """List of warnings in which each text appears once, with the names it concerns."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}
        self._left_out = 0

    def add(self, text: str, name: str = '') -> None:
        """Add a warning about the joint or link of this name."""
        if text not in self._names and len(self._names) >= MAX_WARNINGS:
            self._left_out += 1
            return
        names = self._names.setdefault(text, [])
        if name and name not in names[-1:]:
            names.append(name)

    def lines(self) -> tuple[str, ...]:
        """Return the warnings, each with the names it concerns."""
        lines = [_line(text, names) for text, names in self._names.items()]
        if self._left_out:
            lines.append(f'{self._left_out} further warnings are left out')
        return tuple(lines)


def _line(text: str, names: list[str]) -> str:
    if not names:
        return text
    more = f' and {len(names) - MAX_NAMES} more' if len(names) > MAX_NAMES else ''
    return f'{text} ({", ".join(names[:MAX_NAMES])}{more})'
