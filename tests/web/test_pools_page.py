"""The pools on a coordinator's page, in Chromium: a real coordinator of two pools, one of which fails."""

import pathlib

import pytest
from support import accessibility
from support.browser import CHROMIUM, chromium
from support.headrace_program import coordinator, free_address, free_port, wait_for_answer

pytestmark = [] if CHROMIUM else [pytest.mark.full]

ROWS = "[...document.querySelectorAll('.cards tbody tr')].map((row) => row.innerText)"
NOTICES = "document.querySelector('main .notices').innerText"


@pytest.fixture(scope="module")
def address_of_page():
    address, port = free_address(), free_port()
    pools = [
        *("--pool", "exec:name=spot,price=0.01,preemptible,most=2,command=false {args}"),
        *("--pool", "exec:price=0.04,command={program} {args}"),
    ]
    words = "--workers", "1", "--next-pool-s", "1", "--heartbeat-ms", "250"
    with coordinator("--listen", address, "--http", f"127.0.0.1:{port}", *pools, *words):
        wait_for_answer(address)
        yield f"http://127.0.0.1:{port}"


def test_each_pool_has_a_row_and_a_trouble_says_what_to_do(address_of_page, tmp_path):
    with chromium() as browser:
        page = browser.page()
        page.open(f"{address_of_page}/#pool")
        page.wait(f"{ROWS}.length === 2")
        page.wait(f"/^spot \\(exec, pre-emptible\\)/.test({ROWS}[0])")
        page.wait(f"/^exec \\(exec\\)\\s+usable\\s+1\\s/.test({ROWS}[1])")
        page.wait(f"{NOTICES}.includes('Pool spot: its workers fail: it ended')")
        assert "What to do: start its worker by hand" in page.run(NOTICES)
        for scheme in ("light", "dark"):
            page.prefers(scheme)
            for width in (1280, 400):
                page.size(width, 800)
                page.picture(pathlib.Path(tmp_path, f"{scheme}-{width}.png"), True)
                assert accessibility.problems(page) == [], (scheme, width)
                assert page.run("document.documentElement.scrollWidth") <= width
        page.run("location.hash = '#jobs'")
        page.wait(f"{NOTICES}.includes('Pool spot: its workers fail; Pool says what to do.')")
        assert page.errors == []
        page.close()
