"""The page in a real browser, headless: opened, filtered, clicked, driven by keys, in the dark, in a narrow window."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from gblint.checking import Options, Outcome, check
from gblint.report import FORMATS, Style
from tests.conftest import finding

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1400,1000"
)

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no Chromium to open the page in: apt-get install chromium chromium-driver"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the report on the models of the corpus."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        found = check(Options(paths=("corpus/models",), no_cache=True))
    return written(tmp_path_factory.mktemp("page"), found)


def written(folder: Path, found: Outcome) -> str:
    file = folder / "report.html"
    file.write_text(FORMATS["html"](found, Style()), "utf-8")
    return file.as_uri()


@pytest.fixture
def page(browser: webdriver.Chrome, models: str) -> Iterator[webdriver.Chrome]:
    """The report, opened; whatever a test does with it, nothing is logged and nothing is asked of a network."""
    resize(browser, 1400, 1000)
    browser.get(models)
    yield browser
    assert browser.get_log("browser") == []
    assert requests(browser) <= {models}


def requests(browser: webdriver.Chrome) -> set[str]:
    """Addresses that the browser asked for, without fragments."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return {url for url in sent if not url.startswith(("data:", "chrome"))}


def resize(browser: webdriver.Chrome, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def visible(browser: webdriver.Chrome) -> list[WebElement]:
    return browser.find_elements(By.CSS_SELECTOR, "details.finding:not([hidden])")


def until(browser: webdriver.Chrome, holds: Callable[[], Any]) -> None:
    WebDriverWait(browser, 5).until(lambda _: holds())


def press(browser: webdriver.Chrome, keys: str) -> None:
    browser.switch_to.active_element.send_keys(keys)


def field(browser: webdriver.Chrome, name: str) -> WebElement:
    return browser.find_element(By.NAME, name)


def background(browser: webdriver.Chrome) -> str:
    return browser.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_it_opens_and_can_be_pictured(page: webdriver.Chrome, tmp_path: Path) -> None:
    assert page.title.startswith("Graph breaks")
    assert len(visible(page)) == 13
    assert page.find_element(By.ID, "count").text == "13 shown"
    assert page.save_screenshot(str(tmp_path / "light.png"))
    assert (tmp_path / "light.png").stat().st_size > 20_000


def test_a_click_opens_a_finding(page: webdriver.Chrome) -> None:
    second = visible(page)[1]
    code = second.find_element(By.CSS_SELECTOR, ".code")
    assert not code.is_displayed()
    second.find_element(By.TAG_NAME, "summary").click()
    assert code.is_displayed()
    assert second.find_element(By.TAG_NAME, "mark").text


def test_a_box_of_the_picture_leads_to_its_finding(page: webdriver.Chrome) -> None:
    link = page.find_element(By.CSS_SELECTOR, "section.root:nth-of-type(2) svg a")
    target = link.get_dom_attribute("href")
    page.execute_script("arguments[0].scrollIntoView()", link)
    link.find_element(By.TAG_NAME, "rect").click()
    name = str(target).rpartition("#")[2]
    until(page, lambda: page.find_element(By.ID, name).get_attribute("open"))
    assert page.switch_to.active_element.find_element(By.XPATH, "..").get_attribute("id") == name


def test_every_filter_narrows_and_reset_widens(page: webdriver.Chrome) -> None:
    everything = len(visible(page))
    field(page, "text").send_keys("policy mask")
    until(page, lambda: len(visible(page)) < everything)
    assert all("policy" in f.text.lower() and "mask" in f.text.lower() for f in visible(page))

    def reset() -> None:
        page.find_element(By.CSS_SELECTOR, "button[type=reset]").click()
        until(page, lambda: len(visible(page)) == everything)

    reset()
    field(page, "text").send_keys("no such words anywhere")
    until(page, lambda: not visible(page))
    assert page.find_element(By.ID, "nothing").is_displayed()
    assert not page.find_elements(By.CSS_SELECTOR, "section.root:not([hidden]), nav li:not([hidden])")
    reset()
    field(page, "hot").click()
    until(page, lambda: len(visible(page)) == 12)
    assert page.find_element(By.ID, "count").text == "12 of 13 shown"
    reset()
    for name, key in (("rule", "data-rule"), ("file", "data-file")):
        option = page.find_elements(By.CSS_SELECTOR, f"select[name={name}] option")[1]
        option.click()
        until(page, lambda: len(visible(page)) < everything)
        assert {f.get_attribute(key) for f in visible(page)} == {option.get_attribute("value")}
        assert option.text.endswith(f"({len(visible(page))})")
        reset()
    page.execute_script(
        "const slider = arguments[0]; slider.value = 99; slider.dispatchEvent(new Event('input', {bubbles: true}))",
        field(page, "confidence"),
    )
    until(page, lambda: len(visible(page)) < everything)
    assert {f.get_attribute("data-confidence") for f in visible(page)} <= {"99", "100"}
    assert field(page, "least").text == "99%"
    reset()


def test_keys_move_open_search_and_help(page: webdriver.Chrome) -> None:
    def here() -> str:
        return page.execute_script("return document.activeElement.closest('details.finding')?.id ?? ''")

    order = [f.get_attribute("id") for f in visible(page)]
    press(page, "j")
    press(page, "j")
    assert here() == order[1]
    press(page, Keys.ENTER)
    assert page.find_element(By.ID, order[1]).get_attribute("open")
    outline = page.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "where the focus is can be seen"
    press(page, "k")
    press(page, "k")
    assert here() == order[0], "there is nothing before the first"
    press(page, "/")
    assert page.switch_to.active_element.get_attribute("name") == "text"
    press(page, "jd?")
    assert field(page, "text").get_attribute("value") == "jd?", "keys are text where text is written"
    field(page, "text").clear()
    press(page, Keys.ESCAPE)
    until(page, lambda: page.switch_to.active_element.tag_name == "body")
    press(page, "?")
    assert page.find_element(By.ID, "keys").is_displayed()
    press(page, Keys.ESCAPE)
    assert not page.find_element(By.ID, "keys").is_displayed()


def test_it_is_dark_where_the_system_is_or_a_switch_says_so(page: webdriver.Chrome, tmp_path: Path) -> None:
    def system(scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    system("light")
    light = background(page)
    system("dark")
    dark = background(page)
    assert dark != light
    button = page.find_element(By.ID, "theme")
    button.click()
    button.click()
    assert (button.text, background(page)) == ("Theme: light", light)
    system("light")
    button.click()
    button.click()
    assert (button.text, background(page)) == ("Theme: dark", dark)
    page.refresh()
    assert background(page) == dark, "the choice lasts"
    assert page.save_screenshot(str(tmp_path / "dark.png"))
    press(page, "d")
    press(page, "d")
    assert page.find_element(By.ID, "theme").text == "Theme: auto"


def test_nothing_is_wider_than_a_narrow_window(page: webdriver.Chrome) -> None:
    resize(page, 360, 800)
    for item in page.find_elements(By.CSS_SELECTOR, "details.finding"):
        page.execute_script("arguments[0].open = true", item)
    assert page.execute_script("return document.documentElement.scrollWidth") <= 360
    assert not field(page, "text").is_displayed()
    press(page, "/")
    assert field(page, "text").is_displayed()


# Relative luminance and contrast as WCAG 2 defines them.
CONTRAST = """
const rgb = (text) => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
  .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (el) => {
  for (; el; el = el.parentElement) {
    const colour = rgb(getComputedStyle(el).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
const faint = [];
for (const el of document.querySelectorAll("body *")) {
  const own = [...el.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  if (!own || el.closest("script, svg, option") || !el.checkVisibility()) continue;
  const [a, b] = [light(rgb(getComputedStyle(el).color)), light(behind(el))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) faint.push(el.className + ": " + el.textContent.slice(0, 40));
}
return faint;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_what_is_behind_it(page: webdriver.Chrome, scheme: str) -> None:
    page.execute_script("document.documentElement.dataset.theme = arguments[0]", scheme)
    for item in page.find_elements(By.CSS_SELECTOR, "details.finding"):
        page.execute_script("arguments[0].open = true", item)
    assert page.execute_script(CONTRAST) == []


def test_everything_that_is_operated_has_a_name_and_there_are_landmarks(page: webdriver.Chrome) -> None:
    nameless = "return [...document.querySelectorAll('input, select, button, summary, a, [tabindex=\"0\"]')]"
    nameless += ".filter(e => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).length"
    assert page.execute_script(nameless) == 0
    for landmark in ("header", "main", "aside", "nav[aria-label]", "form[role=search][aria-label]"):
        assert len(page.find_elements(By.CSS_SELECTOR, landmark)) == 1
    assert len(page.find_elements(By.TAG_NAME, "h1")) == 1
    words = {e.text for e in page.find_elements(By.CSS_SELECTOR, "summary .tag")}
    assert {"eager", "split"} <= words, "what a colour says, a word says too"


def test_hostile_text_does_nothing(browser: webdriver.Chrome, tmp_path: Path) -> None:
    attack = "document.title = 'owned'"
    text = f'</script><script>{attack}</script><img src=https://example.org/x onerror="{attack}">'
    item = finding(
        tmp_path / "a.py", 1, message=text, function=text, root=text, advice=f"`{text}`", end_column=50, code=text,
    )  # fmt: skip
    address = written(tmp_path, Outcome(findings=[item], notes=[text], overlay={str(tmp_path / "a.py"): text.encode()}))
    browser.get_log("performance")
    browser.get(address)
    assert "owned" not in browser.title
    assert text in browser.find_element(By.CLASS_NAME, "message").text
    assert browser.get_log("browser") == []
    assert requests(browser) == {address}


def test_thousands_of_findings_are_filtered_at_once(browser: webdriver.Chrome, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("x = 1\n" * 3000, "utf-8")
    many = [
        finding(tmp_path / "m.py", n, message=f"`x{n}` is a tensor", root=f"m.Net{n % 300}.forward", hot=n % 2 == 0)
        for n in range(1, 3001)
    ]
    browser.get(written(tmp_path, Outcome(findings=many)))
    assert browser.find_element(By.ID, "count").text == "3000 shown"
    spent = """
        const done = arguments[0], count = document.getElementById("count"), start = performance.now();
        new MutationObserver(() => requestAnimationFrame(() => done(performance.now() - start)))
          .observe(count, {childList: true});
        const search = document.querySelector("input[type=search]");
        search.value = "x299";
        search.dispatchEvent(new Event("input", {bubbles: true}));
    """
    assert browser.execute_async_script(spent) < 2_000  # milliseconds
    assert browser.find_element(By.ID, "count").text == "11 of 3000 shown"
