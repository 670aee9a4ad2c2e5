"""live(): the page of runs that train now, inline in a notebook, by a process of its own (`aplomb live`)."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["LivePage", "live"]

_PATIENCE_S = 30.0


class LivePage:
    """A page that is served as long as this object (or the notebook's kernel) lives. `url` opens it in any tab, once."""

    def __init__(self, process: subprocess.Popen[str], url: str, height: int) -> None:
        self._process = process
        self.url = url
        self.height = height

    def _repr_html_(self) -> str:
        url = escape(self.url, quote=True)
        return (
            f'<iframe src="{url}" title="aplomb live" style="width:100%;height:{int(self.height)}px;border:1px solid #ccc"'
            f' sandbox="allow-scripts allow-same-origin allow-popups" referrerpolicy="no-referrer"></iframe>'
            f'<p><a href="{url}" target="_blank" rel="noreferrer noopener">the page in a tab of its own</a></p>'
        )

    def __repr__(self) -> str:
        state = "served" if self._process.poll() is None else "stopped"
        parts = urlsplit(self.url)
        return f"<LivePage {state} at {parts.scheme}://{parts.netloc}>"

    def stop(self) -> None:
        """Ends the page; the runs that it shows go on."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> LivePage:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def __del__(self) -> None:
        process = getattr(self, "_process", None)
        if process is not None and process.poll() is None:
            process.terminate()


def live(
    *paths: str | os.PathLike[str], port: int = 0, host: str = "localhost", base_url: str | None = None, height: int = 800
) -> LivePage:
    """Shows runs on a page below the cell while they train: files and folders as `aplomb live` takes them.

        page = aplomb.live("out/")
        page                       # the last line of a cell: shows it
        page.stop()

    The browser must reach the page's port: on another machine forward it (`ssh -L 8080:localhost:8080`, port=8080). `host`
    is the name under which the browser opened the notebook, localhost or 127.0.0.1: it lets no frame of another name have
    the page's cookie. `base_url` is where a proxy shows the page, if one does (asking under a loopback name: no other is
    answered). A framed page cannot stop runs.
    Raises ValueError where nothing can be followed."""
    if not paths:
        raise ValueError("[aplomb] live() wants files or folders of runs")
    from aplomb.report import _program

    words = [_program(), "live", "--in-frame", "--port", str(int(port)), "--", *(os.fspath(each) for each in paths)]
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    assert process.stdout is not None
    # It says where it is at once; one that says nothing is ended.
    watch = threading.Timer(_PATIENCE_S, process.kill)
    watch.start()
    said = []
    try:
        for line in process.stdout:
            said.append(line.strip())
            found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\w+)", line)
            if found:
                base = base_url.rstrip("/") if base_url else f"http://{host}:{found[1]}"
                return LivePage(process, f"{base}/?token={found[2]}", height)
    finally:
        watch.cancel()
    process.wait()
    process.stdout.close()
    raise ValueError("\n".join(said) or f"[aplomb] live: exit status {process.returncode}")
