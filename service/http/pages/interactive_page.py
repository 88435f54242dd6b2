"""`/docs/interactive`: Swagger UI, whose files come with a package, so that it works offline."""

from base64 import b64encode
from hashlib import sha256

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

from service.http.pages.rendered import add_page
from service.http.pages.route_page import INTERACTIVE
from service.http.sites import page_policy

FILES = f"{INTERACTIVE}/files"


def interactive_page(title: str) -> HTMLResponse:
    """Return the answer with the page."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title=f"{title}: try the API",
        swagger_js_url=f"{FILES}/swagger-ui-bundle.js",
        swagger_css_url=f"{FILES}/swagger-ui.css",
        swagger_favicon_url=f"{FILES}/favicon-32x32.png",
        # Swagger UI would ask a validator on the internet about the document
        swagger_ui_parameters={"validatorUrl": None},
    )
    # the page begins with a script in it: it alone may run, and the one that we serve
    script = bytes(page.body).rpartition(b"<script>")[2].partition(b"</script>")[0]
    digest = b64encode(sha256(script).digest()).decode()
    page.headers.update(page_policy(f"'self' 'sha256-{digest}'", style="'self' 'unsafe-inline'"))
    return page


def add_interactive_page(app: FastAPI) -> None:
    """Serve the page and its files."""
    add_page(app, INTERACTIVE, lambda: interactive_page(app.title))
    files = StaticFiles(packages=[("fastapi_swagger", "resources")])
    app.mount(FILES, files)
