"""How often a false alarm is acceptable."""

import re
from dataclasses import dataclass
from typing import Literal, Self

from ..errors import SettingError
from ..wording import got

__all__ = ["Budget"]

RAREST = 1e15  # rows or so between alarms
SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800, "month": 2_592_000}


@dataclass(frozen=True)
class Budget:
    """How often a false alarm is acceptable: `alarms` per `span` rows, or per `span` seconds.

    Example:
        budget = Budget.parse("2/day")
        print(budget.alarms, budget.span, budget.unit)
    """

    alarms: float
    span: float
    unit: Literal["rows", "seconds"]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads "1/10000 rows", "1/week", "2/day" or "1/12 hours".

        Args:
            text: a number of alarms, a slash, a span.

        Returns:
            The budget.

        Raises:
            SettingError: where it does not read so.

        Example:
            budget = Budget.parse("1/week")
            print(budget.span)
        """
        grouped = r"\d{1,3}(?:[,_]\d{3})+(?:\.\d+)?|[\d.]*"  # 10,000 is a number; 1,5 might be two
        match = re.fullmatch(
            rf"\s*([\d.]+)\s*/\s*({grouped})\s*([a-z]+?)s?\s*", text if isinstance(text, str) else "", re.IGNORECASE
        )
        rule = (
            f'budget must read like "1/10000 rows", "1/week" or "2/day" (units: {", ".join(SECONDS)}); got {got(text)}'
        )
        if match is None:
            raise SettingError(rule)
        try:
            alarms, span = float(match[1]), float(re.sub("[,_]", "", match[2]) or 1)
        except ValueError:
            raise SettingError(rule) from None
        unit = match[3].lower()
        if unit not in {"row", *SECONDS} or not 0 < alarms <= RAREST or not 0 < span <= RAREST * alarms:
            raise SettingError(rule)
        if unit == "row":
            return cls(alarms, span, "rows")
        return cls(alarms, span * SECONDS[unit], "seconds")

    def rows_per_alarm(self, period: float | None) -> float:
        """The budget in rows.

        Args:
            period: seconds between rows; None where times are unknown.

        Returns:
            Mean rows between false alarms.

        Raises:
            SettingError: where it is per time, and times are unknown; where it allows an alarm in every other row.

        Example:
            budget = Budget.parse("1/week")
            print(budget.rows_per_alarm(period=60.0))
        """
        if self.unit == "rows":
            rows = self.span / self.alarms
        elif period is None:
            raise SettingError(
                "budget per time needs rows with times; this series has none: "
                'give a time column or index, or write the budget in rows, such as "1/10000 rows"'
            )
        else:
            rows = self.span / self.alarms / period
        if rows < 2:
            raise SettingError(f"budget must allow at least 2 rows between alarms; got one alarm every {rows:.3g} rows")
        return rows
