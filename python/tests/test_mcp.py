"""`aplomb mcp` as assistants use it: through the official client, over standard input and output.

The session over a large log, two checkpoints and a broken configuration runs with a log of 50 MB, and with one of 1 GB where
APLOMB_SLOW_TESTS=1.
"""

import json
import os
import pathlib
import shutil
import struct
import sys
import time

import pytest

pytest.importorskip("mcp")

import anyio  # noqa: E402
from mcp import StdioServerParameters  # noqa: E402
from mcp.client.client import Client  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402
from mcp.shared.exceptions import MCPError  # noqa: E402
from mcp_types import ListRootsResult, Root  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_BYTES = 12_000
TOOLS = {"diagnose", "check", "plan", "compare", "ckpt", "explain", "run_status", "read_lines"}
BROKEN_YAML = "learning_rate: 50\nbf16: true\nfp16: true\nper_device_train_batch_size: 4\nmax_steps: 100\n"


def session(body, *words, roots=None, mode="auto", environment=None):
    """Runs body(client) against a server of its own; returns what it returns."""

    async def declared(_):
        return ListRootsResult(roots=[Root(uri=pathlib.Path(each).as_uri()) for each in roots])

    async def whole():
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "aplomb", "mcp", *map(str, words)], env={**os.environ, **(environment or {})}
        )
        async with Client(stdio_client(server), mode=mode, list_roots_callback=declared if roots else None) as client:
            return await body(client)

    return anyio.run(whole)


def content(result):
    """The structured answer, which the text repeats."""
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    assert len(result.content[0].text.encode()) <= 2 * MOST_BYTES, "indented by the SDK"
    assert len(json.dumps(result.structured_content, ensure_ascii=False).encode()) <= MOST_BYTES + 500
    return result.structured_content


def refusal(result):
    assert result.is_error
    return result.content[0].text


@pytest.fixture
def run_folder(tmp_path):
    shutil.copytree(ROOT / "examples" / "lr-too-high-nan", tmp_path / "run")
    os.utime(tmp_path / "run" / "train.log")
    return tmp_path / "run"


def write_log(path, size):
    """A log of about `size` bytes that learns and breaks at its end: one line of fifty has metrics."""
    step, lines = 0, 300
    with open(path, "w") as file:
        written = 0
        while written < size:
            part = []
            for _ in range(20_000):
                if len(part) % 50:
                    part.append(
                        f"[rank0] INFO data.loader: shard of {len(part)} records opened, workers are up, prefetching\n"
                    )
                    continue
                step += 1
                part.append(f"step {step} | loss {2 + 3 / (1 + step / 500):.4f} | grad_norm 1.{step % 97:02d} | lr 1e-3\n")
            text = "".join(part)
            file.write(text)
            lines += len(part)
            written += len(text)
        for _ in range(300):
            step += 1
            file.write(f"step {step} | loss nan | grad_norm nan | lr 1e-3\n")
    return step, lines


def write_checkpoint(path, value):
    """A safetensors file of one float32 tensor of a million numbers."""
    head = json.dumps({"w": {"dtype": "F32", "shape": [1024, 1024], "data_offsets": [0, 4 << 20]}}).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + struct.pack("<f", value) * (1 << 20))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_tools_and_resources_are_told_and_look_only(mode, tmp_path):
    async def body(client):
        tools = (await client.list_tools()).tools
        assert {each.name for each in tools} == TOOLS, "docs/agents.md names them"
        assert all(each.annotations.read_only_hint and each.output_schema and each.description for each in tools)
        assert all("declared" not in each.input_schema["properties"] for each in tools)
        templates = (await client.list_resource_templates()).resource_templates
        assert {each.uri_template.split("/")[2] for each in templates} == {"lines", "report"}

    session(body, "--root", tmp_path, mode=mode)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_broken_run_is_diagnosed_and_its_evidence_read(run_folder, mode):
    async def body(client):
        answer = content(await client.call_tool("diagnose", {"paths": [str(run_folder)]}))
        assert answer["schema"] == "aplomb.report/1" and answer["verdict"] == "failed"
        assert answer["causes"][0]["id"].endswith("lr-too-high")
        evidence = next(each for each in answer["causes"][0]["evidence"] if each.get("line"))
        path = pathlib.Path(evidence["path"])
        near = content(
            await client.call_tool("read_lines", {"path": str(path), "first": evidence["line"], "last": evidence["line"]})
        )
        assert near["lines"][0]["text"] == path.read_text().splitlines()[evidence["line"] - 1]
        name = answer["causes"][0]["id"]
        assert "learning rate" in content(await client.call_tool("explain", {"name": name}))["text"]
        part = content(await client.call_tool("diagnose", {"paths": [str(run_folder)], "part": "ruled_out"}))
        assert part["ruled_out"][0]["id"]
        status = content(await client.call_tool("run_status", {"path": str(run_folder)}))
        assert status["last_step"] == 150 and status["last_written"]["seconds_ago"] < 600
        lines = json.loads((await client.read_resource(f"aplomb://lines/1/3{path}")).contents[0].text)
        assert [each["line"] for each in lines["lines"]] == [1, 2, 3]
        whole = json.loads((await client.read_resource(f"aplomb://report{run_folder}")).contents[0].text)
        assert whole["causes"][0]["id"] == name

    session(body, roots=[run_folder], mode=mode)


def test_a_session_over_a_large_log_two_checkpoints_and_a_broken_configuration(tmp_path, capsys):
    size = 10**9 if os.environ.get("APLOMB_SLOW_TESTS") else 50 * 10**6
    last, lines = write_log(tmp_path / "train.log", size)
    for name, value in (("before", 1.0), ("after", float("nan"))):
        write_checkpoint(tmp_path / f"{name}.safetensors", value)
    (tmp_path / "train.yaml").write_text(BROKEN_YAML)
    (tmp_path / "config.json").write_text(
        '{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 1000, '
        '"intermediate_size": 128, "num_attention_heads": 4}'
    )
    calls = [
        ("diagnose", {"paths": ["train.log"]}),
        ("run_status", {"path": "train.log"}),  # the report is still there: the file has not changed
        ("read_lines", {"path": "train.log", "first": lines - 301, "last": lines - 297}),
        ("read_lines", {"path": "train.log", "first": -3, "last": -1}),
        ("ckpt", {"verb": "scan", "path": "after.safetensors"}),
        ("ckpt", {"verb": "diff", "path": "before.safetensors", "other": "after.safetensors"}),
        ("check", {"paths": ["train.yaml"], "gpu": "T4"}),
        ("plan", {"paths": ["config.json", "train.yaml"], "gpu": "T4"}),
    ]
    seen = {}

    async def body(client):
        for name, arguments in calls:
            begin = time.monotonic()
            answer = content(await client.call_tool(name, arguments))
            size_bytes = len(json.dumps(answer, ensure_ascii=False).encode())
            seen[name, arguments.get("verb", arguments.get("first"))] = answer
            with capsys.disabled():
                print(f"\n  {name:<11} {time.monotonic() - begin:6.2f} s {size_bytes:6} bytes", end="")

    session(body, "--root", tmp_path)
    assert seen["diagnose", None]["verdict"] == "failed"
    first_nan = f"loss nan at line {lines - 299}"
    evidence = [each for cause in seen["diagnose", None]["causes"] for each in cause["evidence"] if each.get("line")]
    assert any(each["line"] == lines - 299 for each in evidence), (first_nan, "of a sampled log too")
    assert last - 10 < seen["run_status", None]["last_step"] <= last, "long series are thinned"
    assert [each["text"].split(" | ")[1] for each in seen["read_lines", -3]["lines"]] == ["loss nan"] * 3
    assert "loss nan" not in seen["read_lines", lines - 301]["lines"][0]["text"]
    assert "loss nan" in seen["read_lines", lines - 301]["lines"][-1]["text"]
    assert "nan" in json.dumps(seen["ckpt", "scan"]).lower()
    assert seen["check", None]["findings"]


def test_nothing_outside_of_the_roots_is_read(run_folder, tmp_path):
    (tmp_path / "secret.log").write_text("step 1 | loss nan\n")
    (run_folder / "link.log").symlink_to(tmp_path / "secret.log")

    async def body(client):
        for path in (tmp_path / "secret.log", run_folder / ".." / "secret.log", run_folder / "link.log", "/etc/passwd", "/"):
            assert "outside of the folders" in refusal(await client.call_tool("diagnose", {"paths": [str(path)]}))
            assert "outside" in refusal(await client.call_tool("read_lines", {"path": str(path), "first": 1, "last": 1}))
        with pytest.raises(MCPError, match="outside"):
            await client.read_resource(f"aplomb://lines/1/1{tmp_path}/secret.log")
        with pytest.raises(MCPError, match="outside"):
            await client.read_resource("aplomb://report/etc/passwd")

    session(body, roots=[run_folder])
    session(body, "--root", run_folder)
    session(body, "--root", run_folder, roots=[tmp_path])  # the client may narrow what --root allows, and not widen it


def test_hostile_arguments_are_refused_and_the_server_goes_on(run_folder):
    (run_folder / "odd.log").write_bytes(b"\x1b]0;x\x07 loss \xff\xfe nan \xe2\x80\xae" + b"A" * 100_000 + b"\n")
    before = sorted(run_folder.rglob("*"))

    async def body(client):
        call = client.call_tool
        assert "NUL" in refusal(await call("diagnose", {"paths": ["a\0b"]}))
        assert refusal(await call("diagnose", {"paths": []}))
        assert "no such file" in refusal(await call("diagnose", {"paths": ["--html=/tmp/x"]}))
        assert "no such file" in refusal(await call("check", {"paths": ["~nobody-here/x"]}))
        content(
            await call("check", {"paths": ["training_args.json"], "gpu": f"--fix={run_folder}/out"})
        )  # a card of that name
        assert "a name has" in refusal(await call("explain", {"name": "--help; rm -rf"}))
        assert refusal(await call("ckpt", {"verb": "delete", "path": "."}))
        assert refusal(await call("read_lines", {"path": "train.log", "first": 5, "last": -1}))
        assert refusal(await call("read_lines", {"path": ".", "first": 1, "last": 1}))
        odd = content(await call("read_lines", {"path": "odd.log", "first": 1, "last": 200}))
        assert len(odd["lines"][0]["text"]) == 600 and "\x1b" not in odd["lines"][0]["text"]
        assert content(await call("read_lines", {"path": "train.log", "first": 10**12, "last": 10**12}))["lines"] == []
        assert content(await call("diagnose", {"paths": ["train.log"]}))["verdict"] == "failed"

    session(body, "--root", run_folder)
    assert sorted(run_folder.rglob("*")) == before, "nothing is written"


def test_a_cancelled_call_ends_its_process_and_progress_is_told(tmp_path):
    """The program is a stand-in that takes its time and says so in a file."""
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\nexec sleep 60\n")
    slow.chmod(0o755)
    (tmp_path / "a.log").write_text("step 1 | loss 2\n")
    told = []

    async def progress(done, _total, message):
        told.append((done, message))

    async def body(client):
        with anyio.move_on_after(3) as scope:
            await client.call_tool("diagnose", {"paths": ["a.log"]}, progress_callback=progress)
        assert scope.cancelled_caught
        pid = int((tmp_path / "pid").read_text())
        for _ in range(50):
            if not pathlib.Path(f"/proc/{pid}").exists():
                break
            await anyio.sleep(0.1)
        assert not pathlib.Path(f"/proc/{pid}").exists(), "the process outlives its call"
        assert content(await client.call_tool("read_lines", {"path": "a.log", "first": 1, "last": 1}))["lines"]

    session(body, "--root", tmp_path, environment={"APLOMB_CLI": str(slow)})
    assert told and told == sorted(told) and "aplomb diagnose" in told[0][1]
