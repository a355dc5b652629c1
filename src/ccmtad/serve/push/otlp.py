"""OpenTelemetry metrics over HTTP: gauges and sums, as protobuf or JSON."""

import math
from typing import Any

from ...errors import MissingExtraError
from ...live.labels import Labels
from .series import Body, Series, malformed

__all__ = ["answer", "read"]

NO_VALUE = 1  # a flag of a point: nothing was recorded
NUMBERS = ("gauge", "sum")


def _messages() -> Any:
    try:
        from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
    except ImportError as error:
        raise MissingExtraError(f"OTLP needs opentelemetry-proto: pip install 'ccmtad[push]' ({error})") from error
    return metrics_service_pb2


def read(body: bytes, json: bool, now: int) -> Body:
    """The series of a request. Of other kinds than gauges and sums the points are left out."""
    from google.protobuf import json_format
    from google.protobuf.message import DecodeError

    request = _messages().ExportMetricsServiceRequest()
    try:
        if json:
            json_format.Parse(body, request, ignore_unknown_fields=True)
        else:
            request.ParseFromString(body)
    except (DecodeError, json_format.Error, RecursionError, UnicodeDecodeError) as error:
        raise malformed(f"body must be an ExportMetricsServiceRequest; got {str(error)[:200]}") from error
    found = Body()
    for resource in request.resource_metrics:
        around = _labels(resource.resource.attributes)
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                _take(metric, around, found, now)
    return found


def _take(metric: Any, around: Labels, found: Body, now: int) -> None:
    kind = metric.WhichOneof("data")
    if kind is None:
        return
    points = getattr(metric, kind).data_points
    if kind not in NUMBERS or not metric.name:
        found.leave_out(f"metrics must be gauges or sums with a name; got a {kind}", len(points))
        return
    for point in points:
        which = point.WhichOneof("value")
        if which is None or point.flags & NO_VALUE:
            continue
        value = float(getattr(point, which))
        series = Series(metric.name, _labels(point.attributes), ((value, point.time_unix_nano or now),), around)
        found.series.append(series)


def _labels(attributes: Any) -> Labels:
    return tuple((one.key, _text(one.value)) for one in attributes)


def _text(value: Any) -> str:
    """An attribute as a label: text as it is, truths as true and false, whole numbers without a point."""
    kind = value.WhichOneof("value")
    if kind in ("string_value", "int_value"):
        return str(getattr(value, kind))
    if kind == "bool_value":
        return "true" if value.bool_value else "false"
    if kind == "double_value":
        number = value.double_value
        return str(int(number)) if math.isfinite(number) and number == int(number) else repr(number)
    return ""  # lists and the like name nothing


def answer(refused: int, why: str, json: bool) -> bytes:
    """What is answered where a request was taken, whole or in part."""
    from google.protobuf import json_format

    response = _messages().ExportMetricsServiceResponse()
    if refused:
        response.partial_success.rejected_data_points = refused
        response.partial_success.error_message = why
    return json_format.MessageToJson(response).encode() if json else bytes(response.SerializeToString())
