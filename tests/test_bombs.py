"""Small files that would become large ones: refused with a typed error, before the memory is taken.

Each is read in a process of its own that measures itself, and may not have more address space than it is given.
"""

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccmtad import InputError, SettingError
from ccmtad.bench.datasets import table
from ccmtad.bench.datasets.entity import source
from ccmtad.cli.wording import with_flags
from ccmtad.tables import LARGEST, Reading, parquet, read
from ccmtad.tables.unpacked import Bound

MEGABYTE = 1 << 20
CHILD = """
import json, resource, sys
import polars as pl
from pathlib import Path
from ccmtad import CcmtadError
from ccmtad.tables import Reading, read
read(sys.argv[1])  # what is loaded once is no file's memory
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
pages = int(Path("/proc/self/statm").read_text().split()[0])
most = pages * resource.getpagesize() + (1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
before = peak()
try:
    told = f"{len(read(sys.argv[2], Reading(largest=int(sys.argv[3])))):,} rows"
except CcmtadError as error:
    told = f"{type(error).__name__}: {error}"
print(json.dumps([told, peak() - before]))
"""


def of_gzip(path: Path) -> None:
    """One that says how large it is."""
    path.write_bytes(gzip.compress(b"a,b\n" + b"0,0\n" * (75 * MEGABYTE), 1))


def of_many_gzips(path: Path) -> None:
    """Each says how large it is itself, and none how many there are."""
    path.write_bytes(gzip.compress(b"a,b\n") + gzip.compress(b"0,0\n" * MEGABYTE) * 500)


def of_gzip_that_lies(path: Path) -> None:
    packer = zlib.compressobj(1, wbits=31)
    made = packer.compress(b"a,b\n") + b"".join(packer.compress(b"0,0\n" * MEGABYTE) for _ in range(75))
    path.write_bytes((made + packer.flush())[:-4] + (100).to_bytes(4, "little"))


def written(path: Path, groups: int, **how: object) -> None:
    rows = pa.table({name: np.zeros(10**6) for name in "abcd"})
    with pq.ParquetWriter(path, rows.schema, **how) as file:
        for _ in range(groups):
            file.write_table(rows)


def of_runs(path: Path) -> None:
    """Parquet says once what a million rows hold."""
    written(path, 20)


def of_packed_pages(path: Path) -> None:
    written(path, 20, compression="zstd", use_dictionary=False)


def of_keys(path: Path) -> None:
    """Each line has a key of its own, behind a text that looks like the end of a key."""
    path.write_text("".join(f'{{"v":"w\\\\",",":{i}":1}}\n' for i in range(20_000)))


def of_nothing(path: Path) -> None:
    """A file of holes."""
    path.write_bytes(b"a,b\n1,2\n")
    os.truncate(path, 1 << 40)


BOMBS: list[Callable[[Path], None]] = [
    of_gzip, of_many_gzips, of_gzip_that_lies, of_runs, of_packed_pages, of_keys, of_nothing,
]  # fmt: skip


def child(folder: Path, path: Path, largest: int = LARGEST) -> tuple[str, float]:
    """What came of a file, and how many megabytes it took."""
    pl.DataFrame({"a": [1.0, 2.0]}).write_parquet(folder / "small")
    command = [sys.executable, "-c", CHILD, str(folder / "small"), str(path), str(largest)]
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert ended.returncode == 0, ended.stderr[:1_000]
    told, megabytes = json.loads(ended.stdout)
    return str(told), float(megabytes)


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_before_memory_is_taken(tmp_path: Path, bomb: Callable[[Path], None]) -> None:
    path = tmp_path / "table"
    bomb(path)
    assert path.stat().st_blocks * 512 < 3 * MEGABYTE
    largest = 16 * MEGABYTE
    told, megabytes = child(tmp_path, path, largest)
    most = max(largest, 0 if bomb is of_nothing else 100 * path.stat().st_size)
    assert told.startswith(f"InputError: data '{path}' must unpack to at most {most:,} bytes; got ")
    assert "largest=" in told
    assert megabytes < 2.5 * most / MEGABYTE
    assert megabytes < 400


def test_what_has_no_end_is_not_read_to_it(tmp_path: Path) -> None:
    told, megabytes = child(tmp_path, Path("/dev/zero"), 16 * MEGABYTE)
    assert told.startswith("InputError: data '/dev/zero' must unpack to at most 16,777,216 bytes")
    assert megabytes < 100


def test_a_damaged_head_of_a_page_that_ended_the_process_is_an_error(tmp_path: Path) -> None:
    told, megabytes = child(tmp_path, Path(__file__).parent / "golden" / "abort.parquet")
    assert told.endswith("must be a whole Parquet file; got one with a page of -317 values")
    assert megabytes < 50


def test_a_file_is_read_when_so_much_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100_000))
    size = 4 + 4 * 100_000
    most = 100 * path.stat().st_size
    assert most < size
    with pytest.raises(
        InputError, match=f"at most {most:,} bytes; got {size:,} or more out of .* largest={size}$"
    ) as told:
        read(path, Reading(largest=0))
    assert with_flags(str(told.value)).endswith(f"--largest {size}")
    assert len(read(path, Reading(largest=size))) == 100_000
    with pytest.raises(SettingError, match="largest must be a whole number of bytes, 0 or more; got -1"):
        Reading(largest=-1)


def test_a_text_that_a_million_rows_share_is_told_of_once(tmp_path: Path) -> None:
    shared = pa.array(["x" * MEGABYTE]).dictionary_encode().take(pa.array(np.zeros(50_000, int)))
    for name in ("time", "b"):
        path = tmp_path / name
        pq.write_table(pa.table({name: shared, "a": np.zeros(50_000)}), path, store_schema=False)
        told, megabytes = child(tmp_path, path)
        assert f"column '{name}' h" in told
        assert len(told) < 1_000
        assert megabytes < 200


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"])
def test_what_polars_writes_is_counted_as_it_is(compression: str) -> None:
    rows = np.random.default_rng(0).normal(size=100_000).round(2)
    made = pl.DataFrame({"a": rows, "b": rows > 0, "c": ["x"] * len(rows), "d": np.arange(len(rows))})
    made = made.with_columns(pl.when(pl.col("a") > 1).then(None).otherwise(pl.col("d")).alias("e"))
    buffer = io.BytesIO()
    made.write_parquet(buffer, compression=compression, row_group_size=30_000)  # type: ignore[arg-type]
    parquet.check(buffer.getvalue(), Bound("data", stored=len(buffer.getvalue())))
    with pytest.raises(InputError, match="must unpack to at most 0 bytes; got ") as told:
        parquet.check(buffer.getvalue(), Bound("data", 0))
    size = int(str(told.value).partition("got ")[2].partition(" out")[0].replace(",", ""))
    assert 8 * 5 * len(rows) <= size <= 20 * 5 * len(rows)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"data_page_version": "2.0"},
        {"use_dictionary": False, "column_encoding": {"a": "BYTE_STREAM_SPLIT", "d": "DELTA_BINARY_PACKED"}},
        {"write_page_index": True, "write_page_checksum": True, "row_group_size": 999},
    ],
)
def test_what_others_write_is_counted_as_it_is(how: dict[str, object]) -> None:
    made = pa.table({"a": np.random.default_rng(0).normal(size=5_000), "d": np.arange(5_000), "l": [[1, 2]] * 5_000})
    buffer = io.BytesIO()
    pq.write_table(made, buffer, **how)
    parquet.check(buffer.getvalue(), Bound("data", stored=len(buffer.getvalue())))
    with pytest.raises(InputError, match="got [12]\\d\\d,\\d\\d\\d out of 0$"):
        parquet.check(buffer.getvalue(), Bound("data", 0, given=False))


def test_archives_and_tables_of_the_benchmark_are_bounded(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"\0" * (LARGEST + 1))
        archive.writestr("small", b"1,2")
    files = source(tmp_path, "a.zip", "none", "")
    assert files.read("small") == b"1,2"
    with pytest.raises(
        InputError, match="zeros of a.zip must unpack to at most 268,435,456 bytes; got 268,435,457 out of"
    ):
        files.read("zeros")
    of_many_gzips(tmp_path / "a.csv.gz")
    of_runs(tmp_path / "a.parquet")
    for name in ("a.csv.gz", "a.parquet"):
        with pytest.raises(InputError, match=f"file '{name}' must unpack to at most"):
            table.read(tmp_path / name)
