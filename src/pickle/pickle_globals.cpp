#include "pickle/pickle_globals.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace aplomb::pickle {
namespace {

/// Modules whose functions run code, processes, files or the network when an unpickler calls them
/// (the union of what picklescan, fickling and modelscan refuse). A name also covers what lies
/// below it.
constexpr std::array<std::string_view, 92> k_dangerous = {"os",
                                                          "posix",
                                                          "nt",
                                                          "posixpath",
                                                          "ntpath",
                                                          "subprocess",
                                                          "sys",
                                                          "shutil",
                                                          "socket",
                                                          "pty",
                                                          "commands",
                                                          "runpy",
                                                          "importlib",
                                                          "imp",
                                                          "ctypes",
                                                          "_ctypes",
                                                          "cffi",
                                                          "code",
                                                          "codeop",
                                                          "marshal",
                                                          "types",
                                                          "webbrowser",
                                                          "asyncio",
                                                          "signal",
                                                          "pickle",
                                                          "_pickle",
                                                          "cPickle",
                                                          "dill",
                                                          "cloudpickle",
                                                          "operator",
                                                          "_operator",
                                                          "urllib",
                                                          "urllib2",
                                                          "requests",
                                                          "http",
                                                          "httplib",
                                                          "httpx",
                                                          "aiohttp",
                                                          "ftplib",
                                                          "smtplib",
                                                          "telnetlib",
                                                          "xmlrpc",
                                                          "ssl",
                                                          "pip",
                                                          "setuptools",
                                                          "distutils",
                                                          "ensurepip",
                                                          "venv",
                                                          "timeit",
                                                          "bdb",
                                                          "pdb",
                                                          "cProfile",
                                                          "profile",
                                                          "trace",
                                                          "doctest",
                                                          "linecache",
                                                          "pydoc",
                                                          "pkgutil",
                                                          "zipimport",
                                                          "site",
                                                          "test",
                                                          "unittest",
                                                          "idlelib",
                                                          "lib2to3",
                                                          "tempfile",
                                                          "mmap",
                                                          "resource",
                                                          "gc",
                                                          "inspect",
                                                          "sqlite3",
                                                          "multiprocessing",
                                                          "threading",
                                                          "_thread",
                                                          "concurrent",
                                                          "xml",
                                                          "logging.config",
                                                          "platform",
                                                          "tarfile",
                                                          "zipfile",
                                                          "torch.hub",
                                                          "torch.package",
                                                          "torch.utils.cpp_extension",
                                                          "torch.utils.bottleneck",
                                                          "torch._inductor",
                                                          "torch._dynamo",
                                                          "torch.fx",
                                                          "numpy.testing",
                                                          "numpy.f2py",
                                                          "_pyio",
                                                          "fileinput",
                                                          "shelve",
                                                          "cgitb"};

/// Single functions of modules that are otherwise fine.
constexpr std::array<std::string_view, 21> k_dangerous_names = {
    "torch.load",
    "torch.jit.load",
    "torch.serialization.load",
    "torch.storage._load_from_bytes",
    "torch.jit.unsupported_tensor_ops.execWrapper",
    "torch.distributed.rpc.internal._run_function",
    "numpy.load",
    "numpy.fromfile",
    "numpy.memmap",
    "numpy.lib.npyio.load",
    "joblib.load",
    "pandas.read_pickle",
    "functools.reduce",
    "copyreg.__newobj__hook",
    "io.open",
    "io.open_code",
    "io.FileIO",
    "_io.open",
    "_io.open_code",
    "_io.FileIO",
    "codecs.open"};

/// builtins that only make values. All others (eval, exec, getattr, open, ...) are not for
/// checkpoints.
constexpr std::array<std::string_view, 19> k_plain_builtins = {
    "bool",      "int",     "float",     "complex",    "str",          "bytes",
    "bytearray", "slice",   "range",     "object",     "Ellipsis",     "NotImplemented",
    "long",      "unicode", "Exception", "ValueError", "RuntimeError", "type",
    "property"};

/// Top modules that training code's checkpoints name all the time.
constexpr std::array<std::string_view, 46> k_usual = {
    "torch",        "torchao",    "bitsandbytes",      "numpy",
    "collections",  "argparse",   "transformers",      "accelerate",
    "peft",         "trl",        "datasets",          "deepspeed",
    "megatron",     "lightning",  "pytorch_lightning", "lightning_fabric",
    "omegaconf",    "hydra",      "composer",          "fairscale",
    "fairseq",      "timm",       "torchvision",       "torchaudio",
    "torchmetrics", "tokenizers", "datetime",          "pathlib",
    "enum",         "decimal",    "fractions",         "uuid",
    "functools",    "copy_reg",   "copyreg",           "_codecs",
    "easydict",     "yacs",       "ml_collections",    "__torch__",
    "__main__",     "typing",     "dataclasses",       "llamafactory",
    "axolotl",      "random"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool covers(std::string_view module, std::string_view whole) {
  return whole == module ||
         (whole.size() > module.size() && whole.starts_with(module) && whole[module.size()] == '.');
}

bool is_dangerous(std::string_view module, std::string_view full) {
  if (among(k_dangerous_names, full)) return true;
  return std::any_of(k_dangerous.begin(), k_dangerous.end(),
                     [&](std::string_view each) { return covers(each, module); });
}

GlobalMeaning builtin(std::string_view name) {
  if (name == "set" || name == "frozenset") return {GlobalKind::collection};
  if (name == "list" || name == "tuple") return {GlobalKind::sequence};
  if (name == "dict") return {GlobalKind::mapping};
  return {among(k_plain_builtins, name) ? GlobalKind::opaque : GlobalKind::suspicious};
}

/// `FloatStorage` -> F32, `UntypedStorage` -> bytes; null where the name is no storage.
const tensors::ElementType* storage_type(std::string_view name) {
  constexpr std::string_view k_end = "Storage";
  if (!name.ends_with(k_end) || name.size() == k_end.size()) return nullptr;
  const std::string word = core::lower(name.substr(0, name.size() - k_end.size()));
  return tensors::element_type_of_torch(word == "_legacy" || word == "typed" ? "untyped" : word);
}

GlobalMeaning torch_global(std::string_view module, std::string_view name) {
  if (module == "torch._utils") {
    if (name == "_rebuild_tensor" || name == "_rebuild_tensor_v2" || name == "_rebuild_tensor_v3") {
      return {GlobalKind::rebuild_tensor};
    }
    if (name == "_rebuild_parameter" || name == "_rebuild_parameter_with_state") {
      return {GlobalKind::rebuild_parameter};
    }
    if (name == "_rebuild_wrapper_subclass") return {GlobalKind::rebuild_wrapper};
    return {GlobalKind::opaque};
  }
  if (module == "torch._tensor" && name == "_rebuild_from_type_v2") {
    return {GlobalKind::rebuild_from_type};
  }
  if (module == "torch" && name == "Size") return {GlobalKind::sequence};
  if (module == "torch" || module == "torch.cuda" || module == "torch.storage") {
    if (const tensors::ElementType* type = storage_type(name)) return {GlobalKind::storage, type};
  }
  if (module == "torch") {
    if (const tensors::ElementType* type = tensors::element_type_of_torch(name))
      return {GlobalKind::dtype, type};
  }
  return {GlobalKind::opaque};
}

GlobalMeaning numpy_global(std::string_view module, std::string_view name) {
  if (module == "numpy" && name == "dtype") return {GlobalKind::numpy_dtype};
  if (name == "_reconstruct") return {GlobalKind::numpy_array};
  if (name == "scalar" && module.ends_with("multiarray")) return {GlobalKind::numpy_scalar};
  if (name == "_frombuffer") return {GlobalKind::numpy_buffer};
  return {GlobalKind::opaque};
}

/// Whether a dotted name reaches through attributes to something that runs code: `torch` +
/// `serialization.os.system`.
bool reaches_danger(std::string_view name) {
  if (name.find('.') == std::string_view::npos) return false;
  while (true) {
    const std::string_view part = name.substr(0, name.find('.'));
    if (among(k_dangerous, part) || part.starts_with("__")) return true;
    if (part.size() == name.size()) return false;
    name.remove_prefix(part.size() + 1);
  }
}

}  // namespace

GlobalMeaning meaning_of(std::string_view module, std::string_view name) {
  const std::string full = std::string(module) + "." + std::string(name);
  if (is_dangerous(module, full)) return {GlobalKind::suspicious};
  if (module == "builtins" || module == "__builtin__") return builtin(name);
  if (module != "__torch__" && reaches_danger(name)) return {GlobalKind::suspicious};
  if (module == "_codecs") {
    return {name == "encode" ? GlobalKind::encode : GlobalKind::suspicious};
  }
  if (module == "collections") {
    if (name == "OrderedDict" || name == "defaultdict" || name == "Counter") {
      return {GlobalKind::mapping};
    }
    return {GlobalKind::opaque};
  }
  const std::string_view top = module.substr(0, module.find('.'));
  if (top == "torch") return torch_global(module, name);
  if (top == "numpy") return numpy_global(module, name);
  return {among(k_usual, top) ? GlobalKind::opaque : GlobalKind::unknown};
}

}  // namespace aplomb::pickle
