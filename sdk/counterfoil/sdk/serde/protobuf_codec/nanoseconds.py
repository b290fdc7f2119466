"""Points in time and durations of Python with nanoseconds, which ``datetime`` and ``timedelta`` do not have.

Each is a value of the class of Python, with microseconds, and an attribute for the 0 to 999 nanoseconds above them. It
equals a value of Python alone only without nanoseconds, and is written with them. Arithmetic gives values of Python
alone. The attributes have the names that pandas gives them.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from datetime import tzinfo

_MICROSECOND_DIGITS: Final = 6


class DatetimeWithNanoseconds(datetime):
    """A ``datetime`` with the attribute ``nanosecond``."""

    nanosecond: int = 0

    @classmethod
    def of(cls, value: datetime, nanosecond: int) -> DatetimeWithNanoseconds:
        """Return a point in time and so many nanoseconds above it.

        >>> DatetimeWithNanoseconds.of(datetime(2026, 1, 31), 7)
        DatetimeWithNanoseconds.of(datetime.datetime(2026, 1, 31, 0, 0), 7)
        """
        made = cls.combine(value.date(), value.timetz())
        made.nanosecond = nanosecond
        return made

    @property
    def _plain(self) -> datetime:
        return datetime.combine(self.date(), self.timetz())

    def __repr__(self) -> str:
        return f"{type(self).__name__}.of({self._plain!r}, {self.nanosecond})"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self).of, (self._plain, self.nanosecond)

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.nanosecond == getattr(other, "nanosecond", 0)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = datetime.__hash__

    def __lt__(self, other: Any) -> bool:
        if super().__eq__(other):
            return bool(self.nanosecond < getattr(other, "nanosecond", 0))
        return super().__lt__(other)

    def __gt__(self, other: Any) -> bool:
        if super().__eq__(other):
            return bool(self.nanosecond > getattr(other, "nanosecond", 0))
        return super().__gt__(other)

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def isoformat(self, sep: str = "T", timespec: str = "auto") -> str:
        """Return the text in ISO 8601, with nine digits of the second unless ``timespec`` asks for fewer."""
        if timespec != "auto":
            return self._plain.isoformat(sep, timespec)
        text = self._plain.isoformat(sep, "microseconds")
        end = text.index(".") + _MICROSECOND_DIGITS + 1
        return f"{text[:end]}{self.nanosecond:03}{text[end:]}"

    def astimezone(self, tz: tzinfo | None = None) -> DatetimeWithNanoseconds:
        """Return the same point in time in another zone."""
        return type(self).of(self._plain.astimezone(tz), self.nanosecond)

    def replace(self, *parts: Any, **named: Any) -> Any:
        """Return the value with other parts, and the same nanoseconds."""
        return type(self).of(self._plain.replace(*parts, **named), self.nanosecond)


class TimedeltaWithNanoseconds(timedelta):
    """A ``timedelta`` with the attribute ``nanoseconds``."""

    nanoseconds: int = 0

    @classmethod
    def of(cls, value: timedelta, nanoseconds: int) -> TimedeltaWithNanoseconds:
        """Return a duration and so many nanoseconds above it.

        >>> TimedeltaWithNanoseconds.of(timedelta(seconds=-1), 7)
        TimedeltaWithNanoseconds.of(datetime.timedelta(days=-1, seconds=86399), 7)
        """
        made = cls(value.days, value.seconds, value.microseconds)
        made.nanoseconds = nanoseconds
        return made

    @property
    def _plain(self) -> timedelta:
        return timedelta(self.days, self.seconds, self.microseconds)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.of({self._plain!r}, {self.nanoseconds})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, (self._plain, self.nanoseconds)

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.nanoseconds == getattr(other, "nanoseconds", 0)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = timedelta.__hash__

    def __lt__(self, other: Any) -> bool:
        if super().__eq__(other):
            return bool(self.nanoseconds < getattr(other, "nanoseconds", 0))
        return super().__lt__(other)

    def __gt__(self, other: Any) -> bool:
        if super().__eq__(other):
            return bool(self.nanoseconds > getattr(other, "nanoseconds", 0))
        return super().__gt__(other)

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other
