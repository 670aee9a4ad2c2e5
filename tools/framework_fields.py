#!/usr/bin/env python3
"""Which arguments the classes of training frameworks take, by version: PyPI -> tests/knowledge/framework_fields.json.

usage: framework_fields.py [--write]

The tables of knowledge/frameworks write a remedy in a framework's own keys, and a key comes and goes with versions
(`warmup_ratio` left the Trainer with transformers 5). Here the wheels of two years are fetched one by one (nothing is
installed, nothing of them is run), and the classes are read with `ast`: fields of dataclasses, arguments of `__init__`,
both with what they inherit within the package. tests/knowledge/framework_fields_test.py holds the tables against the
file. Needs pip; a version that the index no longer has is an error.

The file says for each package the versions that were looked at, and for each class each field with the first and the
last of these versions that have it (a field that left and came back has several such pairs); `**` says that it takes
any keyword and hands it on.
"""
import argparse
import ast
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "tests/knowledge/framework_fields.json"

# Two years of releases, a few months apart, and the last before and the first after a change of the major version.
VERSIONS = {
    "transformers": ["4.46.3", "4.48.3", "4.51.3", "4.53.3", "4.55.4", "4.57.6", "5.0.0", "5.2.0", "5.4.0", "5.8.1",
                     "5.12.1", "5.16.1", "5.20.2", "5.24.0"],
    "trl": ["0.12.2", "0.13.0", "0.14.0", "0.15.2", "0.16.1", "0.17.0", "0.18.2", "0.19.1", "0.20.0", "0.21.0", "0.22.2",
            "0.23.1", "0.24.0", "0.25.1", "0.26.2", "0.27.2", "0.28.0",
            "0.29.1", "1.0.0", "1.4.0", "1.8.0", "1.12.0", "1.16.0"],
    "peft": ["0.13.2", "0.15.2", "0.17.1", "0.19.1", "0.21.2"],
    "lightning": ["2.4.0", "2.5.0", "2.5.6", "2.6.0", "2.6.6"],
    "accelerate": ["1.1.1", "1.5.2", "1.8.1", "1.10.1", "1.13.0", "1.15.0"],
}
CLASSES = {
    "transformers": ["TrainingArguments", "Seq2SeqTrainingArguments"],
    "trl": ["SFTConfig", "DPOConfig", "GRPOConfig", "RLOOConfig", "PPOConfig", "KTOConfig", "ORPOConfig", "CPOConfig",
            "RewardConfig", "ModelConfig", "GRPOTrainer"],
    "peft": ["LoraConfig", "AdaLoraConfig"],
    "lightning": ["Trainer", "ModelCheckpoint", "DDPStrategy", "DeepSpeedStrategy"],
    "accelerate": ["Accelerator", "DataLoaderConfiguration", "FullyShardedDataParallelPlugin"],
}


def wheel(package, version):
    """The wheel's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:",
                        "--disable-pip-version-check", "-d", folder, f"{package}=={version}"],
                       check=True, stderr=subprocess.DEVNULL)
        return next(pathlib.Path(folder).glob("*.whl")).read_bytes()


def own_fields(node):
    """The fields of a dataclass and the arguments of __init__, as the class itself states them."""
    fields = [each.target.id for each in node.body
              if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            arguments = each.args.posonlyargs + each.args.args + each.args.kwonlyargs
            fields += [argument.arg for argument in arguments if argument.arg != "self"]
            fields += ["**"] if each.args.kwarg else []
    return [field for field in fields if not field.startswith("_")]


class Wheel:
    """The classes of a wheel. A file is parsed when a class of it is asked for."""

    def __init__(self, data):
        self.archive = zipfile.ZipFile(io.BytesIO(data))
        self.files = {}  # class -> the files that define one of this name
        for name in self.archive.namelist():
            if name.endswith(".py") and "/tests/" not in name:
                for found in re.findall(rb"^class (\w+)", self.archive.read(name), re.M):
                    self.files.setdefault(found.decode(), []).append(name)

    def fields(self, name, seen=()):
        """What the class takes, with what it inherits within the package; of two of a name the one with more."""
        best = set()
        for path in self.files.get(name, []) if name not in seen else []:
            for node in ast.parse(self.archive.read(path)).body:
                if isinstance(node, ast.ClassDef) and node.name == name:
                    bases = [base.attr if isinstance(base, ast.Attribute) else base.id for base in node.bases
                             if isinstance(base, (ast.Attribute, ast.Name))]
                    inherited = (self.fields(base, (*seen, name)) for base in bases)
                    best = max(best, set(own_fields(node)).union(*inherited), key=len)
        return best


def spans(having, versions):
    """The versions that have a field as pairs of first and last, neighbours in `versions` joined."""
    pairs = []
    for place, version in enumerate(versions):
        if version not in having:
            continue
        if pairs and pairs[-1][1] == versions[place - 1] and place:
            pairs[-1][1] = version
        else:
            pairs.append([version, version])
    return pairs


def collect(package):
    versions = VERSIONS[package]
    having = {name: {} for name in CLASSES[package]}  # class -> field -> versions
    for version in versions:
        fetched = Wheel(wheel(package, version))
        for name in having:
            for field in fetched.fields(name):
                having[name].setdefault(field, set()).add(version)
        print(package, version, file=sys.stderr)
    return {"versions": versions,
            "classes": {name: {field: spans(those, versions) for field, those in sorted(fields.items())}
                        for name, fields in having.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the file that the test reads")
    options = parser.parse_args()
    found = {package: collect(package) for package in VERSIONS}
    lines = []
    for package, entry in found.items():
        classes = []
        for name, fields in entry["classes"].items():
            rows = ",\n".join(f'    "{field}": {json.dumps(pairs)}' for field, pairs in fields.items())
            classes.append(f'   "{name}": {{\n{rows}}}')
        versions = json.dumps(entry["versions"])
        lines.append(f' "{package}": {{"versions": {versions}, "classes": {{\n' + ",\n".join(classes) + "}}")
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if options.write:
        TARGET.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
