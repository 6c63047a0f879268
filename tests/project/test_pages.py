"""The built pages of the documentation as a browser shows them: ``make pages``."""

import re
import shutil
import threading
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

BUILT = Path(__file__).resolve().parents[2] / "build/docs"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = PHONE, DESKTOP = 390, 1280
pytestmark = pytest.mark.pages

PAGES = [
    str(path.relative_to(BUILT))
    for path in sorted(BUILT.rglob("*.html"))
    if path.name not in ("search.html", "genindex.html", "py-modindex.html")
    and path.relative_to(BUILT).parts[0] not in ("_modules", "lite")
]
IN_A_BROWSER = sorted(path.name for path in (BUILT / "lite/files").glob("*.ipynb"))
PYODIDE = "https://cdn.jsdelivr.net/pyodide/"
API = [name for name in PAGES if name.startswith("generated")]
API_ON_REQUEST = [pytest.param(name, marks=pytest.mark.slow) for name in API]

CUT = """() => {
    const scrolls = e => e !== document.body
        && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
    const width = document.documentElement.clientWidth;
    return [...document.querySelectorAll("article table, article pre, article img, mjx-container")]
        .filter(e => e.getBoundingClientRect().right > width + 1 && !scrolls(e))
        .map(e => e.tagName + ": " + e.textContent.slice(0, 60));
}"""
SCROLLED = """() => [...document.querySelectorAll("article pre, article div.math")]
    .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 60))"""
RAW_FORMULAS = r"""() => {
    const text = document.body.cloneNode(true);
    text.querySelectorAll("pre, code, script, style, mjx-container").forEach(e => e.remove());
    return text.textContent.match(/(\\\(|\\\[|\$\$|\{\{).{0,60}/g) ?? [];
}"""
MISSING_PICTURES = """() => [...document.images]
    .filter(e => e.offsetParent && !(e.complete && e.naturalWidth)).map(e => e.src)"""


@pytest.fixture(scope="module")
def address():
    """Address of the built pages."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(BUILT))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    """A headless browser of the system."""
    playwright = pytest.importorskip("playwright.sync_api")
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip(f"needs one of {BROWSERS}")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def tab(browser):
    """A window, and what it asked of other hosts."""
    with browser.new_page() as window:
        refuse_others(window)
        yield window


def refuse_others(window):
    """Let a window ask this host alone; ``elsewhere`` is what it asked of others."""

    def refuse(route):
        window.elsewhere.append(route.request.url)
        route.abort()

    window.elsewhere = []
    window.route(lambda url: "127.0.0.1" not in url, refuse)


def test_build_has_pages():
    assert len(PAGES) > 20


@pytest.mark.parametrize("name", [*(name for name in PAGES if name not in API), *API_ON_REQUEST])
def test_page_fits_and_is_complete(tab, address, name):
    tab.elsewhere.clear()
    assert tab.goto(address + name).ok
    tab.evaluate("() => window.MathJax?.startup?.promise")
    assert tab.evaluate(RAW_FORMULAS) == []
    assert tab.locator("mjx-merror").count() == 0
    assert tab.evaluate(MISSING_PICTURES) == []
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.evaluate(CUT) == []
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= width
        assert width < DESKTOP or tab.evaluate(SCROLLED) == []
    assert tab.elsewhere == []


@pytest.mark.parametrize("name", ["index.html", *API[:1]])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(browser, address, name, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with browser.new_page(color_scheme=scheme) as page:
        page.goto(address + name)
        results = axe.run(page, options={"runOnly": ["color-contrast"]})
    assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize("name", PAGES)
def test_page_links_lead_to_files_and_anchors(name):
    links = re.findall(r'<a [^>]*href="([^"]+)"', (BUILT / name).read_text(encoding="utf-8"))
    assert [link for link in links if not urlsplit(link).scheme and is_dead(link, name)] == []


def is_dead(link, name):
    """Whether a link on a page leads nowhere."""
    target = urlsplit(urljoin(name, link))
    path, anchor = BUILT / unquote(target.path or name), unquote(target.fragment)
    return not path.is_file() or (bool(anchor) and anchor not in ids_of(path))


@cache
def ids_of(path):
    """Places on a page that links can name."""
    return set(re.findall(r'\bid="([^"]+)"', path.read_text(encoding="utf-8")))


def opened_in_a_browser(window, address, notebook):
    """Follow the link on a notebook's page, and wait for its cells."""
    window.goto(f"{address}notebooks/{Path(notebook).stem}.html")
    window.get_by_role("link", name="Try it in the browser").click()
    window.wait_for_selector(".jp-CodeCell >> text=%pip install -q propcvx")


def test_notebook_runs_in_browser(browser, address):
    with browser.new_page() as window:
        refuse_others(window)
        with window.expect_request(lambda request: request.url.startswith(PYODIDE)):
            opened_in_a_browser(window, address, IN_A_BROWSER[0])
        assert [url for url in window.elsewhere if not url.startswith(PYODIDE)] == []
        assert window.locator(".jp-Dialog").count() == 0
