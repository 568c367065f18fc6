"""The whole way in a real browser, from a table to a release, on any screen and by keyboard."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import nolook
from examples.tutorials.helpers.hospital import write_stays
from tests.app.served import server, write_table

pytestmark = pytest.mark.slow  # a browser for each

WIDTHS = (375, 768, 1280)
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
PLACES = ("people.csv", "duckdb:people.duckdb", "parts")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Write one table as CSV, in a DuckDB file and as a folder of Parquet files."""
    import duckdb
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("home")
    write_table(folder / "people.csv")
    write_stays(folder / "stays.csv", patients=6_000)
    with duckdb.connect(str(folder / "people.duckdb")) as database:
        query = "SELECT * FROM read_csv(?, delim=';', decimal_separator=',')"
        database.execute(f"CREATE TABLE visits AS {query}", [str(folder / "people.csv")])
        rows = database.sql("SELECT * FROM visits").to_arrow_table()
    (folder / "parts").mkdir()
    for number in range(2):
        pq.write_table(rows.slice(1500 * number, 1500), folder / "parts" / f"{number}.parquet")
    return folder


@pytest.fixture
def page(chromium, home):
    """Give a page of a browser that has the app's cookie; it must report no error."""
    from playwright.sync_api import sync_playwright

    said = []
    with server(home) as started, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(started.address)
        yield page
        browser.close()
    assert said == []


def look(page, name, place):
    """Look at a page at each width, light and dark: nothing is too wide, axe finds nothing.

    axe takes most of the time, so it judges the pages of the first place alone.
    """
    axe = Path(find_spec("axe_core_python").origin).with_name("axe.min.js").read_text("utf-8")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
        if place != PLACES[0]:
            continue
        page.evaluate(axe)
        found = page.evaluate("tags => axe.run({ runOnly: tags })", TAGS)
        bad = [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]]
        assert bad == [], (name, theme)


def column(page, name):
    return page.get_by_role("region", name=name, exact=True)


def declare(page, name, label, value):
    column(page, name).get_by_label(label).select_option(value)


def ask(page, question, epsilon):
    page.get_by_role("link", name="Questions").click()
    questions = page.get_by_role("region", name="Questions")
    questions.get_by_role("link", name=question).click()
    page.get_by_label("Epsilon", exact=True).fill(epsilon)


def press(page, name):
    """Press a button that leads to another page, and wait for that page."""
    with page.expect_navigation():
        page.get_by_role("button", name=name).click()


def mark(page, *names):
    """Mark some columns only."""
    group = page.get_by_role("group", name="Columns")
    for box in group.get_by_role("checkbox").all():
        box.uncheck()
    for name in names:
        group.get_by_label(name, exact=True).check()


def make(page):
    """Press the button, and return the page of the release once it is made."""
    page.get_by_role("button", name="Charge the ledger").click()
    page.get_by_role("link", name="See the release").wait_for(timeout=90_000)


def begin(page, place):
    """Go from the choice of a table to its budget."""
    page.get_by_label(place, exact=True).check()
    if ":" in place:
        page.get_by_label("Table of the database").fill("visits")
    look(page, "start", place)
    press(page, "Open the table")
    declare(page, "person", "Type", "integer")
    declare(page, "person", "Use", "unit")
    declare(page, "ward", "Type", "category")
    column(page, "ward").get_by_role("button", name="use them").click()
    if place != "people.csv":
        declare(page, "again", "Type", "boolean")
    page.get_by_label("I read every line").check()
    look(page, "schema", place)
    press(page, "Save the schema")
    look(page, "budget", place)
    page.get_by_label("Epsilon", exact=True).fill("2,5")
    press(page, "Create the ledger")


def go_on(page):
    """Open the session of people.csv, a new one if there is none."""
    if page.get_by_role("link", name="people.csv").count():
        page.get_by_role("link", name="people.csv").click()
    else:
        begin(page, "people.csv")


@pytest.mark.parametrize("place", PLACES)
def test_from_a_table_to_a_table_of_counts_a_model_and_a_ledger(page, home, place):
    begin(page, place)
    look(page, "overview", place)
    ask(page, "How many", "0,5")
    page.get_by_role("group", name="Groups").get_by_label("ward").check()
    page.get_by_role("button", name="Charge the ledger").wait_for()
    look(page, "tabulate", place)
    make(page)
    look(page, "made", place)
    page.get_by_role("link", name="See the release").click()
    assert "ward" in page.inner_text("h1")
    page.go_back()
    ask(page, "What explains", "1")
    page.get_by_label("Outcome").select_option("cost")
    mark(page, "age")
    page.get_by_label("About how many").fill("3.000")
    page.get_by_text("Half the intervals ±").first.wait_for()
    look(page, "fit", place)
    make(page)
    page.get_by_role("link", name="Ledger: epsilon 1 of 2.5 left").click()
    assert page.get_by_role("row").count() == 3
    session = home / f"{'visits' if ':' in place else place.split('.')[0]}.nolook"
    kinds = sorted(path.name.partition("-")[0] for path in session.glob("*.csv"))
    assert kinds == ["fit", "tabulate"]
    (model,) = map(nolook.load, session.glob("fit-*.json"))
    assert list(model.feature_names_in_) == ["age"]
    with nolook.Ledger(session / "budget.ledger") as ledger:
        assert [entry.state for entry in ledger.history()] == ["complete"] * 2


def test_from_a_messy_table_of_a_hospital_to_counts_a_model_and_a_ledger(page, home):
    page.get_by_label("stays.csv", exact=True).check()
    press(page, "Open the table")
    declare(page, "patient_id", "Use", "unit")
    for name in ("sex", "ward"):
        column(page, name).get_by_role("button", name="use them").click()
    assert "?" not in column(page, "ward").get_by_label("Levels").input_value()
    page.get_by_label("I read every line").check()
    press(page, "Save the schema")
    page.get_by_label("Epsilon", exact=True).fill("3")
    press(page, "Create the ledger")
    ask(page, "How many", "1")
    page.get_by_role("group", name="Groups").get_by_label("ward").check()
    page.get_by_text("noise changes a count by at most").wait_for()
    make(page)
    page.get_by_role("link", name="Ask something else").click()
    ask(page, "What explains", "1")
    page.get_by_label("Outcome").select_option("readmitted")
    mark(page, "age", "ward", "days")
    make(page)
    page.get_by_role("link", name="Ledger: epsilon 1 of 3 left").click()
    (model,) = map(nolook.load, (home / "stays.nolook").glob("fit-*.json"))
    assert model.privacy_.unit.column == "patient_id"
    low, high = model.coef_interval_[list(model.feature_names_in_).index("age")]
    assert 0.0 < low < 0.06 < 2 * high


def test_the_slider_ends_at_what_is_left_and_sets_epsilon_and_the_cost(page):
    go_on(page)
    left = page.get_by_role("link", name="Ledger:").inner_text().split()[2]
    ask(page, "How is a number", "")
    page.get_by_label("Column", exact=True).select_option("age")
    slider = page.get_by_label("Up to what is left")
    assert slider.get_attribute("max") == left
    slider.press("End")
    page.get_by_text("epsilon 0, delta").wait_for()
    assert float(page.get_by_label("Epsilon", exact=True).input_value()) == float(left)
    slider.press("PageDown")
    page.get_by_role("button", name="Charge the ledger").wait_for()
    page.get_by_label("Epsilon", exact=True).fill("9")
    page.get_by_text(f"has epsilon {left}").wait_for()
    assert page.get_by_role("button", name="Charge the ledger").count() == 0


def test_by_keyboard_from_a_question_to_its_release(page):
    go_on(page)
    questions = page.get_by_role("region", name="Questions")
    questions.get_by_role("link", name="How is a number").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/ask/ecdf")

    def focused():
        return page.evaluate("document.activeElement.id || document.activeElement.name")

    seen = []
    while focused() != "field-column" and len(seen) < 20:
        page.keyboard.press("Tab")
        seen.append(focused())
    page.keyboard.type("age")
    while focused() != "field-epsilon" and len(seen) < 40:
        page.keyboard.press("Tab")
        seen.append(focused())
    page.keyboard.type("0,25")
    page.get_by_role("button", name="Charge the ledger").wait_for()
    while focused() != "run" and len(seen) < 60:
        page.keyboard.press("Tab")
        seen.append(focused())
    page.keyboard.press("Enter")
    page.get_by_role("link", name="See the release").wait_for(timeout=90_000)


def test_an_error_is_shown_at_its_field_and_announced(page):
    go_on(page)
    ask(page, "How is a number", "1.234")
    shown = page.locator("#field-epsilon-problem")
    shown.wait_for()
    assert "can be read in two ways" in shown.inner_text()
    assert shown.get_attribute("role") == "alert"
    assert "field-epsilon-problem" in page.locator("#field-epsilon").get_attribute(
        "aria-describedby"
    )
    assert page.get_by_role("button", name="Charge the ledger").count() == 0
