"""The page of a coordinator, in Chromium: a real coordinator, two workers and a job.

Chromium is a large package, so without it these tests are of the full extent alone (./dev test --full
installs it)."""

import os
import pathlib
import re
import subprocess
import sys
import urllib.request

import numpy
import pytest
from PIL import Image
from support import accessibility
from support.browser import CHROMIUM, Page, chromium
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    coordinator,
    free_address,
    free_port,
    headrace,
    wait_for,
    wait_for_answer,
)

pytestmark = [] if CHROMIUM else [pytest.mark.full]

TRAIN = """
import sys, time
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision import transforms

crop = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])
loader = DataLoader(ImageFolder(sys.argv[1], crop), batch_size=8, num_workers=2, shuffle=True)
while True:
    for batch in loader:
        time.sleep(0.01)
"""
# Where pictures of the tests are kept to be looked at; else they go.
PICTURES = os.environ.get("HEADRACE_PAGE_PICTURES")


class Cluster:
    def __init__(self, tmp_path: pathlib.Path):
        self.address, self.port = free_address(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.word = tmp_path / "admin"
        self.word.write_text("open sesame\n")
        self.word.chmod(0o600)

    def words(self) -> list[str]:
        return [
            *("--listen", self.address, "--http", f"127.0.0.1:{self.port}"),
            *("--workers", "2", "--threads", "2", "--cache", "64M", "--heartbeat-ms", "250"),
            *("--http-admin-token-file", str(self.word)),
        ]


@pytest.fixture(scope="module")
def browser():
    with chromium() as process:
        yield process


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    photos = folder / "photos"
    rng = numpy.random.default_rng(5)
    for index in range(64):
        place = photos / f"class{index % 2}"
        place.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 256, (300, 400, 3), dtype=numpy.uint8)
        Image.fromarray(pixels).save(place / f"{index}.jpg")
    script = folder / "train.py"
    script.write_text(TRAIN)
    made = Cluster(folder)
    with coordinator(*made.words()):
        wait_for_answer(made.address)
        job = subprocess.Popen(
            [HEADRACE, "run", sys.executable, str(script), str(photos)],
            env=clean_environment(HEADRACE_COORDINATOR=made.address),
            stdin=subprocess.DEVNULL,
        )
        try:
            # On a busy machine torch alone takes its time to be imported.
            wait_for(
                lambda: "train.py" in headrace("jobs", "--coordinator", made.address).stdout,
                "job",
                300,
            )
            yield made
        finally:
            job.kill()
            job.wait()


@pytest.fixture
def page(browser, cluster):
    shown: Page = browser.page()
    shown.open(cluster.url)
    shown.wait("document.querySelector('#live').textContent === 'Live'")
    shown.wait("document.querySelector('tbody a')?.textContent.includes('train.py')")
    yield shown
    assert shown.errors == []
    assert shown.requests and all(url.startswith(cluster.url) for url in shown.requests)
    shown.close()


@pytest.fixture
def picture(tmp_path):
    folder = pathlib.Path(PICTURES) if PICTURES else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    return lambda page, name, whole=False: page.picture(folder / f"{name}.png", whole)


def go(page: Page, view: str) -> None:
    page.run(f"location.hash = {view!r}")
    page.wait(
        f"document.querySelector('header nav a[aria-current]').hash === '#{view.partition('/')[0]}'"
    )


def job_number(page: Page) -> str:
    return page.run("document.querySelector('tbody a').hash.split('/')[1]")


def trains(page: Page) -> None:
    """Until enough of the job's history is there to be drawn, and its advice is known."""
    go(page, f"jobs/{job_number(page)}")
    page.wait("document.querySelector('.area[data-series=compute]').getAttribute('d')?.length > 60")
    page.wait("document.querySelector('.sentence').textContent.startsWith('It waits')")


def test_each_view_serves_those_who_see_and_those_who_do_not(page, picture):
    trains(page)
    number = job_number_of(page)
    for scheme in ("light", "dark"):
        page.prefers(scheme)
        for view in ("jobs", f"jobs/{number}", "workers", "data", "pool"):
            go(page, view)
            page.wait("document.querySelector('main tbody tr, main .facts dd:not(:empty)')")
            if "/" in view:
                page.wait("document.querySelector('section[data-filled]')")
            name = view.replace("/", "-").replace(number, "one")
            for width, height in ((1280, 800), (400, 800)):
                page.size(width, height)
                picture(page, f"{name}-{scheme}-{width}", whole=True)
                assert accessibility.problems(page) == [], (view, scheme, width)
                wide = page.run("document.documentElement.scrollWidth")
                assert wide <= width, (view, scheme, width)
            page.size(1280, 800)


def job_number_of(page: Page) -> str:
    return page.run("location.hash.split('/')[1]")


def test_the_colours_are_the_systems_until_one_chooses(page):
    ground = "getComputedStyle(document.body).backgroundColor"
    page.prefers("dark")
    dark = page.run(ground)
    page.prefers("light")
    light = page.run(ground)
    assert dark != light
    page.run("document.querySelector('input[value=dark]').click()")
    assert page.run(ground) == dark
    page.run("window.old = true; location.reload()")
    # The old document is there for a moment.
    page.wait(f"!window.old && document.readyState === 'complete' && {ground} === '{dark}'")
    page.prefers("dark")
    page.run("document.querySelector('input[value=light]').click()")
    assert page.run(ground) == light
    page.run("document.querySelector('input[value=auto]').click()")
    assert page.run(ground) == dark


def test_the_keyboard_reaches_everything_in_the_order_of_the_page(page):
    order = accessibility.focus_order(page, 20)
    assert all(each is None or each["ring"] for each in order), order
    names = [each["name"] if each else None for each in order]
    assert names[0] == "Skip to the content"
    assert "Auto" in names[1]
    assert [re.sub(r" ?\d*$", "", name) for name in names[2:6]] == [
        "Jobs",
        "Workers",
        "Data sets",
        "Pool",
    ]
    assert names[6] == "Filter jobs"
    assert names[7:14] == ["Job", "State", "Waits", "Cores", "Samples/s", "Left", "What would help"]
    assert "train.py" in names[14]
    assert [each["inside"] for each in order[15:17]] == ["footer", "footer"]
    # The skip link leads to the content, and Tab goes on from there.
    page.run("document.querySelector('.skip').focus()")
    page.press("Enter")
    assert page.run("document.activeElement.id") == "main"
    page.press("Tab")
    assert page.run("document.activeElement.id") == "jobs-filter"
    # A view that is gone to has the focus at its heading, and a sort is a key away.
    page.run("document.querySelector('header nav a[href=\"#workers\"]').focus()")
    page.press("Enter")
    page.wait("document.activeElement.id === 'workers-title'")
    page.press("Tab")
    page.press("Tab")
    page.press("Enter")
    page.wait("document.querySelector('th[aria-sort=descending]')?.textContent === 'Worker'")


def test_a_screen_reader_hears_what_matters_and_no_more(page):
    page.run("""
      window.said = 0;
      for (const node of document.querySelectorAll("[role=status], [aria-live]")) {
        new MutationObserver((all) => { window.said += all.length; })
          .observe(node, { childList: true, characterData: true, subtree: true });
      }
      window.first = document.querySelector("#where").textContent;
      0""")
    page.wait("document.querySelector('#where').textContent !== window.first")
    page.run("window.second = document.querySelector('#where').textContent, 0")
    page.wait("document.querySelector('#where').textContent !== window.second")
    assert page.run("window.said") == 0, "frames come, and nothing is read out"
    page.run("document.querySelector('#jobs-filter').focus()")
    page.type("nothing like it")
    page.wait("document.querySelector('.empty').checkVisibility()")
    assert page.run("window.said") == 1, "what was asked for is"
    assert page.run("document.querySelector('.tools p').textContent") == "0 of 1 job"


def test_what_it_shows_is_what_the_command_says(page, cluster):
    trains(page)
    number = job_number_of(page)
    asked = subprocess.run(
        [HEADRACE, "jobs", "show", number, "--coordinator", cluster.address],
        capture_output=True, text=True, timeout=60, env=clean_environment(), check=True,
    )  # fmt: skip
    waits = re.search(r"waits \d+%", asked.stdout)
    assert waits
    assert "on 2 workers" in page.run("document.querySelector('.facts').innerText")
    # The policy's own words, of which it chooses again each second.
    words = r"cores: all that it can use|of [\d.]+ wanted cores: "
    assert re.search(words, asked.stdout)
    page.wait(f"/{words}/.test(document.querySelector('.facts').innerText)")
    assert re.search(r"waits \d+%", page.run("document.querySelector('.sentence').textContent"))
    # The chart's words and its table say what it draws.
    page.run(
        "document.querySelector('#waits-words').closest('figure').querySelector('summary').click()"
    )
    page.wait("document.querySelector('figure tbody tr td')?.textContent.includes('%')")
    assert "Decode" in page.run("document.querySelector('#waits-words').textContent")


def test_an_admin_drains_a_worker_by_keyboard(page, cluster):
    go(page, "workers")
    page.wait("document.querySelectorAll('tbody a').length >= 2")
    number = page.run("document.querySelector('tbody a').hash.split('/')[1]")
    go(page, f"workers/{number}")
    page.wait("document.querySelector('.danger')?.checkVisibility()")
    page.run("document.querySelector('.danger').focus()")
    page.press("Enter")
    page.wait(
        "document.querySelector('dialog')?.open && document.activeElement.id === 'admin-word'"
    )
    assert accessibility.problems(page, landmarks=False) == [], "the rest is inert"
    page.type("wrong")
    page.press("Enter")
    page.wait("document.querySelector('[role=alert]').textContent.startsWith('Not done')")
    page.errors.clear()  # the browser notes the 401
    page.press("Escape")
    page.wait("!document.querySelector('dialog')")
    assert page.run("document.activeElement.className") == "danger"
    page.press("Enter")
    page.wait("document.querySelector('dialog')?.open")
    page.run("document.querySelector('#admin-word').select()")
    page.type("open sesame")
    page.press("Enter")
    page.wait("!document.querySelector('dialog')")
    page.wait("/draining|no such worker/.test(document.querySelector('main').innerText)")


def test_an_admin_gives_a_job_another_priority(page, cluster):
    go(page, f"jobs/{job_number(page)}")
    page.wait(
        "[...document.querySelectorAll('.orders button')].filter((b) => b.checkVisibility()).length === 2"
    )
    page.run("document.querySelectorAll('.orders button')[2].click()")
    page.wait("document.activeElement.id === 'order-value'")
    page.run("document.activeElement.select()")
    page.type("7")
    page.run("document.querySelector('#admin-word').select()")
    page.type("open sesame")
    page.press("Enter")
    page.wait("!document.querySelector('dialog')")
    page.wait("document.querySelector('.facts').innerText.includes('priority 7')")


def test_another_sites_page_may_not_drain(cluster):
    """A form of a stranger's page, as a browser would send it."""
    request = urllib.request.Request(
        f"{cluster.url}/api/workers/1/drain",
        method="POST",
        data=b"",
        headers={"Origin": "http://evil.example", "X-Headrace-Admin": "open sesame"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with pytest.raises(urllib.error.HTTPError, match="403"):
        opener.open(request, timeout=30)


def test_it_comes_back_with_its_coordinator(browser, tmp_path):
    cluster = Cluster(tmp_path)
    page: Page = browser.page()
    with coordinator(*cluster.words()):
        wait_for_answer(cluster.address)
        page.open(cluster.url)
        page.wait("document.querySelector('#live').textContent === 'Live'")
        assert page.errors == []
    page.wait("document.querySelector('#live').dataset.state === 'lost'")
    with coordinator(*cluster.words()):
        page.wait("document.querySelector('#live').dataset.state === 'live'")
        page.wait("document.querySelector('.tiles').innerText.includes('2 of 2')")
    page.close()


def test_with_a_token_it_asks_for_it(browser, tmp_path):
    cluster = Cluster(tmp_path)
    token = tmp_path / "token"
    token.write_text("a word\n")
    token.chmod(0o600)
    page: Page = browser.page()
    with coordinator(*cluster.words(), "--http-token-file", str(token)):
        wait_for(lambda: answers(cluster.url), "page")
        page.open(cluster.url)
        page.wait("document.activeElement.id === 'word'")
        page.type("a word")
        page.press("Enter")
        page.wait("document.querySelector('#live').textContent === 'Live'")
        page.run("window.isOld = true, location.reload()")
        page.wait("!window.isOld && document.querySelector('#live')?.textContent === 'Live'")
    page.close()


def answers(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False
