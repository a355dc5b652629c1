"""Prometheus remote write 1.0. What of its messages is needed here:

    syntax = "proto3";
    message WriteRequest { repeated TimeSeries timeseries = 1; }
    message TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; }
    message Label        { string name = 1; string value = 2; }
    message Sample       { double value = 1; int64 timestamp = 2; }  // milliseconds since 1970

Fields that are not named, as metadata, exemplars and native histograms, are passed over.
"""

import struct
from collections.abc import Mapping
from functools import cache
from typing import Any

from ...errors import MissingExtraError
from ..refusal import Refusal
from .series import Body, Series, malformed

__all__ = ["check_headers", "is_stale", "message_class", "read"]

MILLISECOND = 1_000_000
STALE = 0x7FF0000000000002  # the NaN that says: this series has ended
MESSAGES: dict[str, tuple[tuple[str, int, Any], ...]] = {
    "WriteRequest": (("timeseries", 1, "TimeSeries"),),
    "TimeSeries": (("labels", 1, "Label"), ("samples", 2, "Sample")),
    "Label": (("name", 1, str), ("value", 2, str)),
    "Sample": (("value", 1, float), ("timestamp", 2, int)),
}


@cache
def message_class() -> Any:
    """The class of a request, made from the definition above."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise MissingExtraError(f"remote write needs protobuf: pip install 'ccmtad[push]' ({error})") from error
    field = descriptor_pb2.FieldDescriptorProto
    scalars = {str: field.TYPE_STRING, float: field.TYPE_DOUBLE, int: field.TYPE_INT64}
    file = descriptor_pb2.FileDescriptorProto(name="remote_write.proto", package="prometheus", syntax="proto3")
    for name, members in MESSAGES.items():
        message = file.message_type.add(name=name)
        for member, number, kind in members:
            if isinstance(kind, str):
                more = {"type": field.TYPE_MESSAGE, "type_name": f".prometheus.{kind}", "label": field.LABEL_REPEATED}
            else:
                more = {"type": scalars[kind], "label": field.LABEL_OPTIONAL}
            message.field.add(name=member, number=number, **more)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("prometheus.WriteRequest"))


def check_headers(headers: Mapping[str, str]) -> None:
    """Of version 1: a snappy block of the message above. Senders of later versions change over where they read 415."""
    kind, _, more = headers.get("content-type", "").partition(";")
    version = headers.get("x-prometheus-remote-write-version", "0.1.0")
    right = kind.strip().lower() == "application/x-protobuf" and "write.v2" not in more and version.startswith("0.")
    if not right or headers.get("content-encoding", "").strip().lower() != "snappy":
        rule = "must be version 0.1.0, application/x-protobuf (prometheus.WriteRequest), encoded with snappy"
        raise Refusal(415, "bad-type", f"remote write {rule}")


def read(body: bytes) -> Body:
    """The series of a request."""
    from google.protobuf.message import DecodeError

    request, found = message_class()(), Body()
    try:
        request.ParseFromString(body)
    except DecodeError as error:
        raise malformed(f"body must be a prometheus.WriteRequest; got {error}") from error
    for series in request.timeseries:
        labels = {label.name: label.value for label in series.labels}
        name = labels.pop("__name__", "")
        if not name or len(labels) + 1 != len(series.labels):
            found.leave_out("a series must have a __name__, and each label once", len(series.samples))
            continue
        samples = tuple(
            (one.value, one.timestamp * MILLISECOND)
            for one in series.samples
            if one.value == one.value or not is_stale(one.value)
        )
        found.series.append(Series(name, tuple(labels.items()), samples))
    return found


def is_stale(value: float) -> bool:
    """Whether a NaN is the one that marks the end of a series: no value, and none that takes another's place."""
    return bool(struct.unpack("<Q", struct.pack("<d", value))[0] == STALE)
