"""The addresses of the page."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from wifimgrd.http._errors import NOT_FOUND, Handler, Problem
from wifimgrd.http._operations import Operation, Parameter
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.token import AccessToken, public
from wifimgrd.http.page._site import DocumentSite
from wifimgrd.http.page.files import File, Files
from wifimgrd.http.page.sending import KNOWN, sent
from wifimgrd.http.settings import Fleet


def content_security_policy(connections: str = "'self'") -> str:
    """Everything is loaded from this service: nothing inline, nothing from other hosts, nothing in a frame.
    `connections` are the origins that a page may connect to."""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            f"connect-src {connections}",
            "manifest-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


_DOCUMENT_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": content_security_policy(),
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_ASSET_HEADERS: Final = {"Cache-Control": "public, max-age=31536000, immutable"}
"""The name of an asset contains a hash of its content."""
_DOCUMENT_FILE_HEADERS: Final = {"Cache-Control": "no-cache"}
_ICON_HEADERS: Final = {"Cache-Control": "public, max-age=3600"}
_STYLE: Final = "style.html"


class Page:
    """The resources at `/`, `/fleet`, `/docs`, `/docs/`, `/assets/` and `/icons/`, which need no token."""

    def __init__(
        self,
        prefix: str,
        files: Files | None = None,
        *,
        token: AccessToken | None = None,
        fleet: Fleet | None = None,
        site: DocumentSite | None = None,
    ) -> None:
        """`prefix` is the path of the devices; `token` is the one that is required; `fleet` is for the page
        of all hubs, if there is one."""
        self._site = site or DocumentSite()
        self._fleet = fleet
        self._token = token
        self._files = files or Files()
        self._documents: dict[tuple[str, str, str], File] = {}
        self._values = {"devices": prefix.lstrip("/"), "fleet": "" if fleet is None else "fleet/"}
        self._fleet_headers: dict[str, str] = {}
        if fleet is not None:
            self._values |= {"broker": str(fleet.broker), "prefix": fleet.prefix}
            policy = content_security_policy(fleet.broker.origin)
            self._fleet_headers = _DOCUMENT_HEADERS | {"Content-Security-Policy": policy}

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        routes.add("GET HEAD", "/", self.page)
        routes.add_exactly("GET HEAD", "/docs", self.docs)
        routes.add_exactly("GET HEAD", "/docs/{path:.*}", self.documents)
        routes.add("GET HEAD", "/fleet", self.fleet)
        routes.add("GET HEAD", "/assets/{name}", self.asset)
        routes.add("GET HEAD", "/icons/{name}", self.icon)

    @public
    @Operation("page", "page", media_types=("text/html",), answer=str, public=True, further=KNOWN)
    async def page(self, request: web.Request) -> web.Response:
        """Show the page for people."""
        return sent(request, self._document("index.html", "", self._sessions(request)), _DOCUMENT_HEADERS)

    @web.middleware
    async def missing(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a browser at an address that does not exist with a page that leads to the hub's; at `/style`
        of a checkout with the page's parts, which are for those who change it and no part of the API."""
        is_missing = isinstance(request.match_info.http_exception, web.HTTPNotFound)
        if is_missing and _is_browser(request):
            return self._nothing_at(request)
        return await handler(request)

    def _nothing_at(self, request: web.Request) -> web.Response:
        is_style = request.path == "/style" and self._files.document(_STYLE) is not None
        # Not kept: there are as many of these documents as depths of addresses.
        root = "../" * (request.path.count("/") - 1)
        file = File(self._text(_STYLE if is_style else "missing.html", root), "html")
        headers = {**_DOCUMENT_HEADERS, "Content-Type": file.content_type}
        return web.Response(status=200 if is_style else 404, body=file.data, headers=headers)

    @public
    @Operation("docs", "page", media_types=("text/html",), answer=str, public=True, further=KNOWN)
    async def docs(self, request: web.Request) -> web.Response:
        """Show this description to people."""
        return sent(request, self._document("docs.html", ""), _DOCUMENT_HEADERS)

    @public
    @Operation(
        "documents",
        "page",
        reads=(Parameter("path", str, "A page, such as `http/`, or a file of it.", "path", required=True),),
        media_types=(
            *("text/html", "text/css", "text/javascript", "text/plain"),
            *("application/json", "application/yaml", "image/png", "image/svg+xml"),
        ),
        errors=(NOT_FOUND,),
        public=True,
        further={**KNOWN, 308: "The page is at this path with a slash at its end."},
    )
    async def documents(self, request: web.Request) -> web.Response:
        """Get a page of the documents, or a file of one."""
        path = request.match_info["path"]
        file = await self._site.file(path)
        if file is not None:
            is_page = file.ending == "html"
            return sent(request, file, _DOCUMENT_HEADERS if is_page else _DOCUMENT_FILE_HEADERS)
        if self._site.is_page(f"{path}/"):
            # Relative, as all links are: a proxy may have put something before it.
            return web.Response(status=308, headers={"Location": f"{path.rpartition('/')[2]}/"})
        if not self._site.is_page(""):
            raise Problem(NOT_FOUND, "the documents were not built: `make site` in the source builds them")
        if _is_browser(request):
            return self._nothing_at(request)
        raise Problem(NOT_FOUND, "there is no such document")

    @public
    @Operation(
        "fleet",
        "page",
        media_types=("text/html",),
        answer=str,
        errors=(NOT_FOUND,),
        public=True,
        further=KNOWN,
    )
    async def fleet(self, request: web.Request) -> web.Response:
        """Show all hubs of an MQTT broker to people; only with `[http] fleet_broker`."""
        if self._fleet is None:
            if _is_browser(request):
                return self._nothing_at(request)
            raise Problem(NOT_FOUND, "there is no page of all hubs: [http] fleet_broker is not set")
        root = "../" if request.path.endswith("/") else ""
        return sent(request, self._document("fleet.html", root), self._fleet_headers)

    @public
    @Operation(
        "asset",
        "page",
        is_internal=True,
        reads=(Parameter("name", str, "As the page names it.", "path", required=True),),
        media_types=(
            *("text/javascript", "text/css", "image/svg+xml", "image/png", "text/plain"),
            "application/manifest+json",
        ),
        errors=(NOT_FOUND,),
        public=True,
        further=KNOWN,
    )
    async def asset(self, request: web.Request) -> web.Response:
        """Get a file of the page."""
        file = self._files.asset(request.match_info["name"])
        if file is None:
            raise Problem(NOT_FOUND, "the page has no such file")
        return sent(request, file, _ASSET_HEADERS)

    @public
    @Operation(
        "icon",
        "page",
        reads=(Parameter("name", str, "As the catalog of camera models names it.", "path", required=True),),
        media_types=("image/svg+xml",),
        errors=(NOT_FOUND,),
        public=True,
        further=KNOWN,
    )
    async def icon(self, request: web.Request) -> web.Response:
        """Get the icon of a kind of camera."""
        file = self._files.icon(request.match_info["name"])
        if file is None:
            raise Problem(NOT_FOUND, "there is no such picture")
        return sent(request, file, _ICON_HEADERS)

    def _sessions(self, request: web.Request) -> str:
        """The address of sessions, for a page whose requests are authorized by one. A browser has no token to
        send with the request for a page: a proxy added it, and signing out would change nothing."""
        has_sessions = self._token is not None and not self._token.has_bearer(request.headers)
        return "session" if has_sessions else ""

    def _document(self, name: str, root: str, sessions: str = "") -> File:
        key = (name, root, sessions)
        if key not in self._documents:
            self._documents[key] = File(self._text(name, root=root, sessions=sessions), "html")
        return self._documents[key]

    def _text(self, name: str, root: str, sessions: str = "") -> bytes:
        text = self._files.document(name)
        if text is None:
            raise Problem(NOT_FOUND, "the page was not built; tools/set-up in the source builds it")
        for place, value in {**self._values, "sessions": sessions, "root": root}.items():
            text = text.replace(f"{{{place}}}", value)
        return text.encode()


def _is_browser(request: web.Request) -> bool:
    """Whether a person asks, and not a program."""
    return request.method in ("GET", "HEAD") and "text/html" in request.headers.get("Accept", "")
