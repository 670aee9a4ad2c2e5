"""aplomb.live(): the page of runs in a notebook."""

import re
import urllib.error
import urllib.request

import aplomb
import pytest


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def status_of(url):
    try:
        with urllib.request.build_opener(NoRedirect).open(url, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as answer:
        return answer.code


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "train.log"
    path.write_text("".join(f"{{'loss': {3 / step:.3f}, 'step': {step}}}\n" for step in range(1, 50)))
    return path


def test_the_page_is_served_until_it_is_stopped(log):
    with aplomb.live(log) as page:
        assert re.fullmatch(r"http://localhost:\d+/\?token=\w+", page.url)
        assert status_of(page.url) == 303
        assert status_of(page.url.split("?")[0]) == 401
        shown = page._repr_html_()
        assert f'src="{page.url}"' in shown and "<script" not in shown
        assert "token" not in repr(page)
    with pytest.raises(OSError):
        status_of(page.url)
    assert "stopped" in repr(page)


def test_a_proxy_and_a_name_stand_in_the_address(log):
    with aplomb.live(log, host="127.0.0.1") as page:
        assert page.url.startswith("http://127.0.0.1:")
    with aplomb.live(log, base_url="https://hub.example.org/user/me/proxy/8080/") as page:
        assert page.url.startswith("https://hub.example.org/user/me/proxy/8080/?token=")
    with aplomb.live(log, base_url='https://x/"><script>') as page:
        assert "<script>" not in page._repr_html_()


def test_what_cannot_be_followed_is_told(tmp_path):
    with pytest.raises(ValueError, match="no such file"):
        aplomb.live(tmp_path / "none")
    with pytest.raises(ValueError):
        aplomb.live()
