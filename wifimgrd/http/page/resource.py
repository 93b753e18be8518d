"""The addresses of the page."""

from __future__ import annotations

from typing import Final

from aiohttp import ETag, web

from wifimgrd.http.access_token import public
from wifimgrd.http.description.operations import Parameter, operation
from wifimgrd.http.page.files import File, Files
from wifimgrd.http.problems import NOT_FOUND, Problem
from wifimgrd.http.routes import Routes

# Everything comes from here: nothing inline, nothing from elsewhere, nothing in a frame.
CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_DOCUMENT_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_ASSET_HEADERS: Final = {"Cache-Control": "public, max-age=31536000, immutable"}
"""An asset's name has a hash of what is in it."""
_ICON_HEADERS: Final = {"Cache-Control": "public, max-age=3600"}
_FURTHER: Final = {304: "The client has it."}


class Page:
    """The resources at `/`, `/docs`, `/assets/` and `/icons/`, which need no token."""

    def __init__(self, prefix: str, files: Files | None = None) -> None:
        """`prefix` is where the devices are."""
        self._devices = prefix.lstrip("/")
        self._files = files or Files()
        self._documents: dict[tuple[str, str], File] = {}

    def add_to(self, routes: Routes) -> None:
        """Wire the addresses."""
        routes.add("GET HEAD", "/", self.page)
        routes.add("GET HEAD", "/docs", self.docs)
        routes.add("GET HEAD", "/assets/{name}", self.asset)
        routes.add("GET HEAD", "/icons/{name}", self.icon)

    @public
    @operation("page", "service", media_types=("text/html",), answer=str, public=True, further=_FURTHER)
    async def page(self, request: web.Request) -> web.Response:
        """Show the page for people."""
        return _answer(request, self._document("index.html", ""), _DOCUMENT_HEADERS)

    @public
    @operation("docs", "service", media_types=("text/html",), answer=str, public=True, further=_FURTHER)
    async def docs(self, request: web.Request) -> web.Response:
        """Show this description to people."""
        root = "../" if request.path.endswith("/") else ""
        return _answer(request, self._document("docs.html", root), _DOCUMENT_HEADERS)

    @public
    @operation(
        "asset",
        "service",
        reads=(Parameter("name", "path", "As the page names it.", str, required=True),),
        media_types=("text/javascript", "text/css", "image/svg+xml", "image/png", "text/plain"),
        errors=(NOT_FOUND,),
        public=True,
        further=_FURTHER,
    )
    async def asset(self, request: web.Request) -> web.Response:
        """Get a file that the page needs."""
        file = self._files.asset(request.match_info["name"])
        if file is None:
            raise Problem(NOT_FOUND, "the page has no such file")
        return _answer(request, file, _ASSET_HEADERS)

    @public
    @operation(
        "icon",
        "service",
        reads=(Parameter("name", "path", "As the catalog of camera models names it.", str, required=True),),
        media_types=("image/svg+xml",),
        errors=(NOT_FOUND,),
        public=True,
        further=_FURTHER,
    )
    async def icon(self, request: web.Request) -> web.Response:
        """Get the picture of a kind of camera."""
        file = self._files.icon(request.match_info["name"])
        if file is None:
            raise Problem(NOT_FOUND, "there is no such picture")
        return _answer(request, file, _ICON_HEADERS)

    def _document(self, name: str, root: str) -> File:
        key = (name, root)
        if key not in self._documents:
            text = self._files.document(name)
            if text is None:
                raise Problem(NOT_FOUND, "the page was not built; tools/set-up in the source builds it")
            text = text.replace("{devices}", self._devices).replace("{root}", root)
            self._documents[key] = File(text.encode(), "html")
        return self._documents[key]


def _answer(request: web.Request, file: File, headers: dict[str, str]) -> web.Response:
    octets, tag = file.octets, file.tag
    answer = dict(headers)
    if file.compressed is not None:
        answer["Vary"] = "Accept-Encoding"
        if accepts_gzip(request.headers.get("Accept-Encoding", "")):
            octets, tag = file.compressed, tag + "-gzip"
            answer["Content-Encoding"] = "gzip"
    answer["ETag"] = f'"{tag}"'
    if _is_known(request.if_none_match, tag):
        answer.pop("Content-Encoding", None)
        return web.Response(status=304, headers=answer)
    return web.Response(body=octets, headers={**answer, "Content-Type": file.content_type})


def accepts_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding takes gzip (RFC 9110, 12.5.3)."""
    weights: dict[str, str] = {}
    for part in accepted.lower().split(","):
        coding, _, parameters = part.partition(";")
        weights[coding.strip()] = parameters.replace(" ", "").removeprefix("q=")
    weight = weights.get("gzip", weights.get("*"))
    return weight is not None and (weight == "" or weight.strip("0.") != "")


def _is_known(tags: tuple[ETag, ...] | None, tag: str) -> bool:
    return tags is not None and any(one.value in (tag, "*") for one in tags)
