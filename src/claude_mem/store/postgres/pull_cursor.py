"""How far a machine has pulled: a position among the changes, and the cursor that it sends next."""

from __future__ import annotations

from msgspec import Struct

from claude_mem.model.errors import InvalidInput


class ChangePosition(Struct, frozen=True, order=True):
    """A changed memory; positions sort in the order of the changes."""

    transaction: int = 0
    kind: str = ""
    id: int = 0

    def __str__(self) -> str:
        return f"{self.transaction}.{self.kind or '_'}.{self.id}"

    @classmethod
    def parse(cls, given: str) -> ChangePosition:
        transaction, kind, id = given.split(".")
        if kind not in ("_", "observation", "summary", "prompt"):
            raise ValueError(kind)
        return cls(_number(transaction), "" if kind == "_" else kind, _number(id))


class PullCursor(Struct, frozen=True):
    """Where a machine's pulls have come to: all changes up to a place. Of projects that its member may read
    only since, what is older comes first, up to that place: those whose grant is of a transaction from
    `grants` on, and before `until`. `cluster`: whose transactions these are, for those of a PostgreSQL server
    that a dump is restored on have nothing to do with them."""

    place: ChangePosition = ChangePosition()
    grants: int = 0
    until: int | None = None  # None: nothing older is being caught up on
    older: ChangePosition = ChangePosition()
    cluster: str = ""

    def __str__(self) -> str:
        main = f"{self.cluster}~{self.place}-{self.grants}"
        return main if self.until is None else f"{main}-{self.until}-{self.older}"

    def is_of(self, cluster: str, upto: int) -> bool:
        return self.cluster == cluster and max(self.place.transaction, self.grants) <= upto

    @classmethod
    def parse(cls, given: str) -> PullCursor:
        """As `str` writes it. Raises InvalidInput."""
        try:
            cluster, _, rest = given.rpartition("~")
            place, grants, *catching_up = rest.split("-")
            until, older = catching_up or (None, None)
            return cls(
                ChangePosition.parse(place),
                _number(grants),
                None if until is None else _number(until),
                ChangePosition() if older is None else ChangePosition.parse(older),
                cluster,
            )
        except ValueError:
            raise InvalidInput("cursor", "The cursor is not from this server.") from None


def _number(given: str) -> int:
    if not (given.isascii() and given.isdecimal() and len(given) <= 18):
        raise ValueError(given)
    return int(given)
