"""Bodies as other programs push them."""

import gzip
import math
from collections.abc import Iterable, Mapping
from typing import Any

import cramjam
import numpy as np
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from ccmtad import Frame
from ccmtad.serve.push.remote_write import message_class

REMOTE_WRITE = {
    "content-type": "application/x-protobuf",
    "content-encoding": "snappy",
    "x-prometheus-remote-write-version": "0.1.0",
}
Sample = tuple[str, Mapping[str, str], float, int]  # name, labels, value, time in nanoseconds


def samples_of(frame: Frame, **labels: str) -> list[Sample]:
    """Every value of a frame that is one."""
    assert frame.times is not None
    times = frame.times.astype("datetime64[ns]").astype(np.int64).tolist()
    return [
        (name, labels, value, time)
        for row, time in zip(frame.values.tolist(), times, strict=True)
        for name, value in zip(frame.channels, row, strict=True)
        if not math.isnan(value)
    ]


def remote_write(samples: Iterable[Sample]) -> bytes:
    """As Prometheus sends it: series by series."""
    request, there = message_class()(), dict[Any, Any]()
    for name, labels, value, time in samples:
        key = (name, *sorted(labels.items()))
        if key not in there:
            there[key] = request.timeseries.add()
            for label, text in sorted({"__name__": name, **labels}.items()):
                there[key].labels.add(name=label, value=text)
        there[key].samples.add(value=value, timestamp=time // 10**6)
    return bytes(cramjam.snappy.compress_raw(request.SerializeToString()))


def influx(samples: Iterable[Sample], unit: int = 1) -> bytes:
    """As Telegraf sends it, one value a line."""
    lines = []
    for name, labels, value, time in samples:
        tags = "".join(f",{key}={text}" for key, text in sorted(labels.items()))
        lines.append(f"{name}{tags} value={value!r} {time // unit}\n")
    return "".join(lines).encode()


def members(body: bytes, number: int) -> bytes:
    """As gzip of several members, cut anywhere."""
    size = len(body) // number + 1
    return b"".join(gzip.compress(body[first : first + size]) for first in range(0, len(body), size))


def otlp(samples: Iterable[Sample], **resource: str) -> ExportMetricsServiceRequest:
    """As an exporter sends it."""
    request = ExportMetricsServiceRequest()
    sent = request.resource_metrics.add()
    for key, text in resource.items():
        sent.resource.attributes.add(key=key.replace("_", ".")).value.string_value = text
    metrics = sent.scope_metrics.add().metrics
    for name, labels, value, time in samples:
        point = metrics.add(name=name).gauge.data_points.add(as_double=value, time_unix_nano=time % 2**64)
        for key, text in labels.items():
            point.attributes.add(key=key).value.string_value = text
    return request
