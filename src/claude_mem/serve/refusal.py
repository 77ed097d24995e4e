"""What a caller is told when a request cannot be served: one shape for every face."""

from __future__ import annotations

from collections.abc import Mapping


class Refusal(Exception):
    """`str()` is one plain sentence that says what is wrong, and what to do where that is not plain."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.code, self.field = status, code, field
        self.headers = dict(headers or {})
        super().__init__(message)

    def as_json(self) -> dict[str, object]:
        error: dict[str, object] = {"code": self.code, "message": str(self)}
        if self.field is not None:
            error["field"] = self.field
        return {"error": error}
