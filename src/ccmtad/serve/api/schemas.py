"""What goes over the wire, for OpenAPI."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "ROWS_BODY", "VALUES_BODY", "EventPage", "KeyMade", "KeyShown", "NewKey", "NewWindow", "Problem", "Pushed",
    "Receipt", "Said", "ValuesReceipt", "WindowShown",
]  # fmt: skip

TIME = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}], "description": "ISO 8601 or seconds."}
NUMBERS = {"type": "array", "items": {"type": ["number", "null"]}}
BY_NAME = {"type": "object", "additionalProperties": {"type": ["number", "null"]}}
ROW = {"type": "object", "properties": {"time": TIME, "values": {"anyOf": [NUMBERS, BY_NAME]}}, "required": ["values"]}
COMMON = {"model": {"type": "string"}, "sequence": {"type": "integer", "minimum": 0}}
MANY = {"type": "object", "required": ["rows"], "properties": {"rows": {"type": "array", "items": ROW}, **COMMON}}
COLUMNS = {
    "type": "object",
    "required": ["values"],
    "properties": {
        "times": {"type": "array", "items": TIME},
        "values": {"type": "array", "items": {"anyOf": [NUMBERS, BY_NAME]}},
        "channels": {"type": "array", "items": {"type": "string"}},
        **COMMON,
    },
}
LINES = {"schema": {"type": "string"}}
ROWS_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"anyOf": [MANY, COLUMNS, ROW]}},
            "application/x-ndjson": LINES,
            "text/csv": LINES,
        },
    }
}
VALUE = {
    "type": "object",
    "required": ["channel", "value", "time"],
    "properties": {"channel": {"type": "string"}, "value": {"type": ["number", "null"]}, "time": TIME},
}
VALUES_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["values"],
                    "properties": {"values": {"type": "array", "items": VALUE}, "model": {"type": "string"}},
                }
            }
        },
    }
}


class Problem(BaseModel):
    """Why a request is not done (RFC 9457)."""

    model_config = ConfigDict(extra="allow")
    type: str
    status: int
    detail: str


class Receipt(BaseModel):
    """What became of rows: all that is accepted is on the disk."""

    accepted: int
    duplicates: int = Field(description="Were there already, and are left out.")
    late: int = Field(description="Of the accepted, those not later than the rows before: the stream ignores them.")
    rows: int = Field(description="Of the entity in the log, in all.")
    notes: list[str] = []


class ValuesReceipt(BaseModel):
    """What became of single values: all that is accepted is on the disk."""

    accepted: int
    late: int
    rows: int = Field(description="That are whole now.")
    waiting: int = Field(description="Rows that wait for more values.")
    ahead: int = Field(description="Stamped too far ahead of the service's clock, and left out.")


class Pushed(BaseModel):
    """What became of pushed values: all that is accepted is on the disk."""

    accepted: int
    late: int = Field(description="Their row was made already.")
    unknown: int = Field(description="Of tags that are not fitted.")
    refused: int = Field(description="Without an entity, of a wrong time, or of an entity that cannot be.")
    rows: int = Field(description="That are whole now.")
    notes: list[str]


class Said(BaseModel):
    """What is said of an event."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field("", max_length=10_000)


class EventPage(BaseModel):
    """Events, newest first."""

    events: list[dict[str, Any]]
    next: str | None = Field(description="Ask with `before` for those that follow; null after the last.")


class NewWindow(BaseModel):
    """A maintenance window."""

    model_config = ConfigDict(extra="forbid")
    entity: str | None = Field(None, description="null: every entity")
    channels: list[str] | None = Field(None, description="null: every channel", max_length=10_000)
    start: str | float | None = Field(None, description="Now where it is null.")
    end: str | float | None = Field(None, description="Until it is ended where it is null.")
    comment: str = Field("", max_length=10_000)


class WindowShown(BaseModel):
    """A maintenance window, as it is kept."""

    id: int
    entity: str | None
    channels: list[str] | None
    start: str
    end: str | None
    comment: str
    by: str
    made: str


class NewKey(BaseModel):
    """A key to be made."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=100)
    scopes: list[str] = Field(min_length=1, max_length=3)


class KeyShown(BaseModel):
    """A key, without its secret."""

    id: str
    name: str
    scopes: list[str]
    made: str
    revoked: str | None


class KeyMade(KeyShown):
    """A new key; its text is shown this once."""

    key: str
