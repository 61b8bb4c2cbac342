"""What a comparison prints, and the page docs/comparison.md."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from .cases import AREAS, Case
from .judging import BETTER, DIFFERENT, SAME, Differences, Observed
from .notekeeper import POSTGRES
from .random_operations import Found

_HERE = Path(__file__).resolve().parent
PAGE = _HERE.parents[1] / "docs" / "comparison.md"
#: The page without its tables.
_TEMPLATE = _HERE / "page.md"


@dataclass(frozen=True)
class Row:
    """A case and what came of it."""

    area: str
    case: Case
    memory: Observed
    file: Observed
    #: By store.
    stores: dict[str, Observed]
    #: Verdict and reason by store.
    verdicts: dict[str, tuple[str, str]]

    @property
    def name(self) -> str:
        """The name of the case among all."""
        return f"{self.area}: {self.case.name}"

    def differing(self) -> dict[tuple[str, str, str], list[str]]:
        """The stores that don't do as the peer, by verdict, reason and what they answered."""
        groups: dict[tuple[str, str, str], list[str]] = {}
        for store, (verdict, why) in self.verdicts.items():
            if verdict != SAME:
                groups.setdefault((verdict, why, self.stores[store].text), []).append(store)
        return groups


def line(row: Row) -> str:
    """One case for the terminal."""
    groups = row.differing()
    if not groups:
        return f"{SAME:10} {row.name}"
    lines = []
    for (verdict, why, text), stores in groups.items():
        on = "" if len(stores) == len(row.stores) else f" ({', '.join(stores)})"
        lines += [
            f"{verdict:10} {row.name}{on}: {why}",
            f"{'':10}   Memory: {row.memory.text}",
            f"{'':10}   MemorySQLite: {row.file.text}",
            f"{'':10}   Notekeeper: {text}",
        ]
    return "\n".join(lines)


def of_random(found: Found) -> str:
    """The random operations for the terminal."""
    rules = ", ".join(f"{rule} {times} ×" for rule, times in sorted(found.rules.items())) or "none"
    return f"random     {found.operations} operations beside the peer; rules that explained what it alone finds: {rules}"


def totals(rows: list[Row]) -> str:
    """How many cases came to which verdict, by the worst of each."""
    order = [SAME, BETTER, DIFFERENT]
    worst = [max((v for v, _ in row.verdicts.values()), key=lambda v: order.index(v) if v in order else 9) for row in rows]
    counted = Counter(worst)
    return f"{len(rows)} cases: " + ", ".join(f"{counted[verdict]} {verdict}" for verdict in [*order, *sorted(set(worst) - set(order))])


def page(rows: list[Row], differences: Differences) -> str:
    """The page, which is the same with and without PostgreSQL."""
    parts = []
    for area in AREAS:
        mine = [row for row in rows if row.area == area.name]
        alike = [row.case.name for row in mine if not row.differing()]
        parts.append(f"### {area.name}\n\n{len(alike)} cases are the same: {'; '.join(alike)}.\n" if alike else f"### {area.name}\n")
        differing = [row for row in mine if row.differing()]
        if differing:
            parts.append("| case | `Memory` | `MemorySQLite` | Notekeeper | |\n| --- | --- | --- | --- | --- |")
            parts[-1] += "".join(f"\n{_table_line(row)}" for row in differing) + "\n"
    rules = "\n".join(f"- **{name}**: {why}" for name, why in differences.rules.items())
    text = _TEMPLATE.read_text(encoding="utf-8")
    return text.replace("{{areas}}", "\n".join(parts).rstrip()).replace("{{rules}}", rules)


def _table_line(row: Row) -> str:
    answers, whys = [], []
    for (verdict, why, text), stores in row.differing().items():
        # With PostgreSQL and without it.
        named = [store for store in stores if store != POSTGRES]
        on = "" if len(named) == len([s for s in row.stores if s != POSTGRES]) else f" ({', '.join(named)})"
        answers.append(f"{_cell(text)}{on}")
        whys.append(f"{verdict}: {why}")
    cells = [row.case.name.replace("|", "\\|"), _cell(row.memory.text), _cell(row.file.text), "<br>".join(answers), "<br>".join(dict.fromkeys(whys))]
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    """Shown as code: nothing in it is Markdown."""
    text = text.replace("|", "\\|")
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}" if fence == "`" else f"{fence} {text} {fence}"
