"""The templates of the report and of the service's page: escaped always, and strict about what is missing."""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError
from ..wording import printable

if TYPE_CHECKING:
    import jinja2

__all__ = ["environment"]


def environment(package: str | None = None, folder: str = "") -> "jinja2.Environment":
    """Templates of the report, before which come those in a folder of a package."""
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtraError("pages need jinja2: pip install 'ccmtad[report]'") from error
    places = [] if package is None else [Path(str(files(package).joinpath(folder)))]
    here = Path(str(files(__package__)))
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([*places, here, here / "pieces"]), autoescape=True,
        undefined=jinja2.StrictUndefined, finalize=_shown, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def _shown(value: Any) -> Any:
    """Words of the data as they may stand in a page; what is markup already stays."""
    return printable(value) if type(value) is str else value
