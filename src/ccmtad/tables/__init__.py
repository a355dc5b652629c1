"""Files as tables: CSV (commas, semicolons or tabs, decimal commas), JSON lines, both also gzipped, and Parquet.

How a line is cut, what is a number and what is a time are the same for a whole file read at once (`read`) and for a
followed one read line by line (`ccmtad.live`): a test gives the same files to both.
"""

from .read import Loaded, load, read
from .reading import LARGEST, Reading
from .split import split

__all__ = ["LARGEST", "Loaded", "Reading", "load", "read", "split"]
