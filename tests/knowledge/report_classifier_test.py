"""The model of reports is what its manifest says (files, with the standard library alone), and what its data give
(rebuild, slow). Exit status 77, a skip, where the packages that trained it are not installed in these versions.

usage: report_classifier_test.py files|rebuild
"""
import hashlib
import importlib.metadata
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "models/report_classifier"


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files():
    told = json.loads((FOLDER / "manifest.json").read_text())
    weights = (FOLDER / told["weights"]["file"]).read_bytes()
    assert hashlib.sha256(weights).hexdigest() == told["weights"]["sha256"], "the weights are not those of the manifest"
    data = {str(path.relative_to(ROOT)) for path in (ROOT / "knowledge/reports").glob("*.jsonl")}
    data |= {f"models/report_classifier/{name}" for name in ("public.jsonl", "features.tsv")}
    assert set(told["data"]) == data, f"learnt from other files: {sorted(set(told['data']) ^ data)}"
    changed = [path for path, digest in told["data"].items() if sha256(ROOT / path) != digest]
    assert not changed, f"changed since the model was trained, train it again: {changed}"
    header = json.loads(weights[8:8 + int.from_bytes(weights[:8], "little")])
    causes = header["__metadata__"]["causes"].split("\n")
    assert causes[-1] == "healthy" and len(causes) == told["causes"] + 1
    # As the format wants it: the tensors follow each other without a gap, to the end of the file.
    at = 0
    for begin, end in (tensor["data_offsets"] for name, tensor in header.items() if name != "__metadata__"):
        assert begin == at, "a gap between tensors"
        at = end
    assert 8 + int.from_bytes(weights[:8], "little") + at == len(weights)
    # Of public reports no text is kept: an address, a label, and features that several reports share.
    for line in (FOLDER / "public.jsonl").read_text().splitlines():
        assert set(json.loads(line)) == {"source", "right", "enough_evidence"}, line
    return 0


def rebuild():
    told = json.loads((FOLDER / "manifest.json").read_text())
    wanted = {**told["versions"], told["vectors"]["package"]: told["vectors"]["version"]}
    wanted.pop("python")
    for name, version in wanted.items():
        try:
            here = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            here = "not installed"
        if here != version:
            print(f"skipped: the model was trained with {name} {version}, here it is {here}")
            return 77
    trainer = str(ROOT / "tools/train_report_classifier.py")
    return subprocess.run([sys.executable, trainer, "--check"], check=False).returncode


if __name__ == "__main__":
    sys.exit({"files": files, "rebuild": rebuild}[sys.argv[1]]())
