"""Names in C."""

from __future__ import annotations

import re

# of C99, and of C++ because a header may be read by it; also what C's own headers define as macros
_KEYWORDS = frozenset("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const
    constexpr const_cast continue decltype default delete do double dynamic_cast else enum explicit
    export extern false float for friend goto if inline int long mutable namespace new noexcept not
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast restrict
    return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
    wchar_t while xor xor_eq""".split())


def identifier(text: str) -> str:
    """
    Return a text as an identifier of C.

    Other characters than letters, digits and underscores become underscores; keywords of C and C++
    get one at the end.
    """
    name = re.sub(r'[^0-9A-Za-z_]+', '_', text).strip('_') or 'robot'
    if name[0].isdigit():
        name = f'robot_{name}'
    return f'{name}_' if name in _KEYWORDS else name


def macro(prefix: str, text: str) -> str:
    """Return the name of a macro of a robot."""
    return identifier(f'{prefix}_{text}').upper()


def comment(text: str) -> str:
    """Return a text of unknown origin as part of a comment of C."""
    return ''.join(each if each.isascii() and each.isprintable() and each not in '*\\?' else '_'
                   for each in text)
