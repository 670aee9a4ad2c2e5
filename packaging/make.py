#!/usr/bin/env python3
"""Packs what is built into what people install: a tarball, a Debian package, a container image, a wheel, each with its parts list.

usage: packaging/make.py KIND --program FILE [--core FILE] --out FOLDER
       KIND: tarball | deb | oci | wheel

tarball, oci and wheel take a program that was linked with APLOMB_STATIC; deb one that was linked with the machine's libraries.
The same input gives the same bytes: times are SOURCE_DATE_EPOCH (without it, those of the last commit), names are sorted, and owners
are root. The parts list (sbom.spdx.json, SPDX 2.3) names what is linked in, at which version, under which licence.
"""

import argparse
import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
VERSION = re.search(r"project\(aplomb VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
SUMMARY = "Finds out why a deep-learning training run went wrong"
# What is linked in: Debian's package of it, its licence (SPDX) as /usr/share/doc/PACKAGE/copyright has it.
PARTS = {
    "fmt": ("libfmt-dev", "MIT"),
    "simdjson": ("libsimdjson-dev", "Apache-2.0"),
    "highway": ("libhwy-dev", "Apache-2.0"),
    "toml++": ("libtomlplusplus-dev", "MIT"),
    "yaml-cpp": ("libyaml-cpp-dev", "MIT"),
    "libarchive": ("libarchive-dev", "BSD-2-Clause"),
    "zlib": ("zlib1g-dev", "Zlib"),
    "zstd": ("libzstd-dev", "BSD-3-Clause"),
    "re2": ("libre2-dev", "BSD-3-Clause"),
    "pcre2": ("libpcre2-dev", "BSD-3-Clause"),
    "utf8proc": ("libutf8proc-dev", "MIT AND Unicode-DFS-2015"),
    "libstemmer": ("libstemmer-dev", "BSD-3-Clause"),
    "nlohmann-json": ("nlohmann-json3-dev", "MIT"),
    "CLI11": ("libcli11-dev", "BSD-3-Clause"),
    "libseccomp": ("libseccomp-dev", "LGPL-2.1-only"),
    "libmd": ("libmd-dev", "BSD-3-Clause"),
    "sqlite": ("libsqlite3-dev", "blessing"),
    "ncurses": ("libncurses-dev", "X11-distribute-modifications-variant"),
    "protozero": ("libprotozero-dev", "BSD-2-Clause"),
    "expected": ("libexpected-dev", "CC0-1.0"),
    "libstdc++": ("libstdc++-12-dev", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "glibc": ("libc6-dev", "LGPL-2.1-or-later"),
}


def epoch():
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    return int(
        subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    )


def ran(*words, **how):
    return subprocess.run(words, capture_output=True, check=True, **how).stdout


def parts_list():
    packages = []
    for name, (package, licence) in sorted(PARTS.items()):
        version = ran("dpkg-query", "-W", "-f=${Version}", package, text=True)
        packages.append(
            {
                "name": name,
                "SPDXID": f"SPDXRef-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}",
                "versionInfo": version,
                "licenseConcluded": licence,
                "licenseDeclared": licence,
                "downloadLocation": f"https://packages.debian.org/{package}",
                "copyrightText": "NOASSERTION",
                "filesAnalyzed": False,
            }
        )
    packages.append(
        {
            "name": "aplomb",
            "SPDXID": "SPDXRef-aplomb",
            "versionInfo": VERSION,
            "licenseConcluded": "Apache-2.0",
            "licenseDeclared": "Apache-2.0",
            "downloadLocation": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "filesAnalyzed": False,
        }
    )
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch()))
    relations = [
        {"spdxElementId": "SPDXRef-aplomb", "relationshipType": "STATIC_LINK", "relatedSpdxElement": each["SPDXID"]}
        for each in packages
        if each["name"] != "aplomb"
    ]
    relations.append(
        {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-aplomb"}
    )
    return (
        json.dumps(
            {
                "spdxVersion": "SPDX-2.3",
                "dataLicense": "CC0-1.0",
                "SPDXID": "SPDXRef-DOCUMENT",
                "name": f"aplomb-{VERSION}",
                "documentNamespace": f"https://spdx.org/spdxdocs/aplomb-{VERSION}",
                "packages": packages,
                "relationships": relations,
                "creationInfo": {"created": made, "creators": ["Tool: packaging/make.py"]},
            },
            indent=1,
        )
        + "\n"
    )


def notices():
    """The licence texts that go with what is linked in: MIT and BSD ask for them in every copy."""
    out = []
    for name, (package, _) in sorted(PARTS.items()):
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text(errors="replace")
        out.append(f"==== {name} ====\n\n{text}")
    return "\n".join(out)


def stripped(program):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "stripped")
        ran("strip", "--strip-all", "-o", out, program)
        return out.read_bytes()


def tar_of(files, prefix=""):
    """A tar of name -> (bytes, mode), with folders, by name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        folders = sorted(
            {str(parent) for name in files for parent in pathlib.PurePosixPath(prefix + name).parents if str(parent) != "."}
        )
        for name in folders:
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o755, epoch()
            tar.addfile(info)
        for name, (content, mode) in sorted(files.items()):
            info = tarfile.TarInfo(prefix + name)
            info.size, info.mode, info.mtime = len(content), mode, epoch()
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def gz(content):
    return gzip.compress(content, 9, mtime=0)


def completion(program, shell):
    return ran(program, "completion", shell)


def roff(text):
    """Lines that stand as they are."""
    lines = (line.replace("\\", "\\\\").replace("-", "\\-") for line in text.splitlines())
    return ".nf\n" + "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines) + "\n.fi\n"


def verbs_of(text):
    """The names under `Subcommands:` of a --help, with what they do."""
    part = text.split("Subcommands:")[1].split("\n\n")[0] if "Subcommands:" in text else ""
    return re.findall(r"^  ([a-z]+) {2,}(\S.*)", part, re.M)


def man_page(name, summary, text, also):
    """A page of section 1, of what --help says: the same words under the headings of a manual."""
    date = time.strftime("%Y-%m-%d", time.gmtime(epoch()))
    page = f'.TH {name.upper()} 1 "{date}" "aplomb {VERSION}" "User Commands"\n.SH NAME\n'
    page += f"{name.replace('-', chr(92) + '-')} \\- {summary[0].lower() + summary[1:]}\n"
    for paragraph in re.split(r"\n\n+", text.strip()):
        first, _, rest = paragraph.partition("\n")
        usage = re.search(r"^Usage: (.*)$", paragraph, re.M)
        if usage:
            page += f".SH SYNOPSIS\n{roff(usage[1])}"
        elif re.fullmatch(r"[A-Z][A-Za-z ]+:", first) and rest:
            page += f".SH {first[:-1].upper()}\n{roff(rest)}"
        else:
            page += f".SH NOTES\n{roff(paragraph)}" if ".SH NOTES\n" not in page else f".PP\n{roff(paragraph)}"
    page += ".SH SEE ALSO\n" + ", ".join(f"{each.replace('-', chr(92) + '-')}(1)" for each in also) + "\n"
    return page.encode()


def man_pages(program):
    """aplomb(1), a page for each verb, and one for each verb of a verb (aplomb-ckpt-scan(1))."""
    whole = ran(program, "--help", text=True)
    verbs = verbs_of(whole)
    pages = {"aplomb.1": man_page("aplomb", SUMMARY, whole, [f"aplomb-{verb}" for verb, _ in verbs])}
    for verb, summary in verbs:
        if verb in ("train", "lab", "mcp"):  # other programs' words
            text, below = f"Usage: aplomb {verb} --help\n\nIts own --help says what it takes.", []
        else:
            text = ran(program, verb, "--help", text=True)
            below = verbs_of(text)
        names = [f"aplomb-{verb}-{each}" for each, _ in below]
        pages[f"aplomb-{verb}.1"] = man_page(f"aplomb-{verb}", summary, text, ["aplomb", *names])
        for each, what in below:
            text = ran(program, verb, each, "--help", text=True)
            pages[f"aplomb-{verb}-{each}.1"] = man_page(f"aplomb-{verb}-{each}", what, text, [f"aplomb-{verb}"])
    return pages


def tarball(program, out):
    name = f"aplomb-{VERSION}-linux-x86_64"
    files = {
        "bin/aplomb": (stripped(program), 0o755),
        "LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
        "NOTICES.txt": (notices().encode(), 0o644),
        "sbom.spdx.json": (parts_list().encode(), 0o644),
        **{f"share/man/man1/{name}.gz": (gz(page), 0o644) for name, page in man_pages(program).items()},
        "share/bash-completion/completions/aplomb": (completion(program, "bash"), 0o644),
        "share/zsh/site-functions/_aplomb": (completion(program, "zsh"), 0o644),
        "share/fish/vendor_completions.d/aplomb.fish": (completion(program, "fish"), 0o644),
    }
    path = out / f"{name}.tar.gz"
    path.write_bytes(gz(tar_of(files, f"{name}/")))
    return path


def deb(program, out):
    """By dpkg-deb, with the libraries that dpkg-shlibdeps finds."""
    version = f"{VERSION}-1"
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder, "root")
        date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(epoch()))
        change = f"aplomb ({version}) unstable; urgency=medium\n\n  * First version.\n\n -- The aplomb contributors <aplomb@localhost.localdomain>  {date}\n"
        licence = (
            "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: aplomb\n\nFiles: *\n"
            "Copyright: 2026 The aplomb contributors\nLicense: Apache-2.0\n On Debian systems the full text of the Apache License, Version 2.0, is\n"
            " in /usr/share/common-licenses/Apache-2.0.\n"
        )
        files = {
            "usr/bin/aplomb": (stripped(program), 0o755),
            **{f"usr/share/man/man1/{name}.gz": (gz(page), 0o644) for name, page in man_pages(program).items()},
            "usr/share/bash-completion/completions/aplomb": (completion(program, "bash"), 0o644),
            "usr/share/zsh/vendor-completions/_aplomb": (completion(program, "zsh"), 0o644),
            "usr/share/fish/vendor_completions.d/aplomb.fish": (completion(program, "fish"), 0o644),
            "usr/share/doc/aplomb/changelog.Debian.gz": (gz(change.encode()), 0o644),
            "usr/share/doc/aplomb/copyright": (licence.encode(), 0o644),
        }
        for name, (content, mode) in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(mode)
        debian = pathlib.Path(folder, "debian")
        debian.mkdir()
        (debian / "control").write_text("Source: aplomb\n\nPackage: aplomb\nArchitecture: any\n")
        found = ran("dpkg-shlibdeps", "-O", str(root / "usr/bin/aplomb"), cwd=folder, text=True)
        size = sum(len(content) for content, _ in files.values()) // 1024 + 1
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN" / "control").write_text(
            f"Package: aplomb\nVersion: {version}\nArchitecture: amd64\nMaintainer: The aplomb contributors <aplomb@localhost.localdomain>\n"
            f"Installed-Size: {size}\nDepends: {found.split('shlibs:Depends=')[1].strip()}\nSuggests: python3\nSection: science\nPriority: optional\n"
            f"Description: {SUMMARY[0].lower() + SUMMARY[1:]}\n"
            " Reads what a training run left (logs, event files, configurations,\n checkpoints), says what went wrong, why, and what to change, with the lines\n that show it."
            " It also checks configurations and training scripts before they\n run, plans memory, compares runs and looks into checkpoints. Nothing that it\n reads is"
            " executed.\n"
        )
        sums = "".join(f"{hashlib.md5(content).hexdigest()}  {name}\n" for name, (content, _) in sorted(files.items()))  # noqa: S324
        (root / "DEBIAN" / "md5sums").write_text(sums)
        for each in [root, *root.rglob("*")]:
            if each.is_dir():
                each.chmod(0o755)
            os.utime(each, (epoch(), epoch()))
        path = out / f"aplomb_{version}_amd64.deb"
        ran(
            "dpkg-deb",
            "--root-owner-group",
            "-Zxz",
            "--build",
            root,
            path,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch())},
        )
    return path


def oci(program, out):
    """An image of one layer that holds the program and nothing else, as an OCI archive (podman load, skopeo, docker load of today)."""
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch()))
    layer = tar_of(
        {
            "aplomb": (stripped(program), 0o755),
            "tmp/.keep": (b"", 0o644),
            "licenses/NOTICES.txt": (notices().encode(), 0o644),
            "licenses/sbom.spdx.json": (parts_list().encode(), 0o644),
        }
    )
    packed = gz(layer)
    blobs = {}

    def blob(content, kind):
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = (content, 0o644)
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}

    config = {
        "created": made,
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": ["/aplomb"], "WorkingDir": "/work", "User": "65534"},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
    }
    kinds = "application/vnd.oci.image."
    manifest = {
        "schemaVersion": 2,
        "mediaType": kinds + "manifest.v1+json",
        "config": blob(json.dumps(config, sort_keys=True).encode(), kinds + "config.v1+json"),
        "layers": [blob(packed, kinds + "layer.v1.tar+gzip")],
    }
    entry = blob(json.dumps(manifest, sort_keys=True).encode(), kinds + "manifest.v1+json")
    entry["annotations"] = {"org.opencontainers.image.ref.name": VERSION}
    index = {"schemaVersion": 2, "mediaType": kinds + "index.v1+json", "manifests": [entry]}
    files = {
        **blobs,
        "index.json": (json.dumps(index, sort_keys=True).encode(), 0o644),
        "oci-layout": (b'{"imageLayoutVersion":"1.0.0"}', 0o644),
    }
    path = out / f"aplomb-{VERSION}-oci.tar"
    path.write_bytes(tar_of(files))
    return path


def wheel(program, core, out):
    """The package with its extension and the static program beside it. The tag's glibc is what the extension asks for."""
    tag = re.search(r"cpython-(\d)(\d+)-", core.name)
    if tag is None and ".abi3." not in core.name:
        sys.exit(f"{core.name} does not say for which Python it is")
    python = "cp312-abi3" if tag is None else f"cp{tag[1]}{tag[2]}-cp{tag[1]}{tag[2]}"
    needs = [tuple(map(int, each)) for each in re.findall(r"GLIBC_(\d+)\.(\d+)", ran("objdump", "-T", core, text=True))]
    newest = max([*needs, (2, 17)])
    platform = f"manylinux_{newest[0]}_{newest[1]}_x86_64" + (".manylinux2014_x86_64" if newest == (2, 17) else "")
    info = f"aplomb-{VERSION}.dist-info"
    files = {
        f"aplomb/{core.name}": (stripped(core), 0o755),
        f"aplomb-{VERSION}.data/scripts/aplomb": (stripped(program), 0o755),
    }
    package = ROOT / "python" / "aplomb"
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            files["aplomb/" + path.relative_to(package).as_posix()] = (path.read_bytes(), 0o644)
    readme = (ROOT / "README.md").read_text()
    files[f"{info}/METADATA"] = (
        (
            f"Metadata-Version: 2.4\nName: aplomb\nVersion: {VERSION}\nSummary: {SUMMARY}, and guards one while it runs\nLicense-Expression: Apache-2.0\n"
            'License-File: LICENSE\nLicense-File: NOTICES.txt\nRequires-Python: >=3.9\nProvides-Extra: mcp\nRequires-Dist: mcp<3,>=2.3; extra == "mcp"\n'
            f"Description-Content-Type: text/markdown\n\n{readme}"
        ).encode(),
        0o644,
    )
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: aplomb packaging\nRoot-Is-Purelib: false\nTag: {python}-{platform.split('.')[0]}\n".encode(),
        0o644,
    )
    files[f"{info}/licenses/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    files[f"{info}/licenses/NOTICES.txt"] = (notices().encode(), 0o644)
    files[f"{info}/sboms/aplomb.spdx.json"] = (parts_list().encode(), 0o644)
    record = ""
    for name, (content, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = ((record + f"{info}/RECORD,,\n").encode(), 0o644)
    path = out / f"aplomb-{VERSION}-{python}-{platform}.whl"
    when = time.gmtime(max(epoch(), 315532800))[:6]  # zip knows no time before 1980
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (content, mode) in files.items():  # RECORD last, as the format asks
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=9)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["tarball", "deb", "oci", "wheel"])
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--core", type=pathlib.Path, help="wheel: the extension module, _core.*.so")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    program = given.program.resolve()
    makers = {"tarball": tarball, "deb": deb, "oci": oci}
    if given.kind == "wheel":
        if given.core is None:
            parser.error("wheel wants --core")
        path = wheel(program, given.core.resolve(), given.out)
    else:
        path = makers[given.kind](program, given.out)
    print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}  {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
