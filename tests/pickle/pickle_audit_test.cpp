// Every pickle of a file is judged, whatever it lies in, and none is called safe that cannot be
// followed. The bytes are those of an attacker; nothing here loads them.

#include "pickle/pickle_audit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/made_checkpoints.h"
#include "checkpoint/made_torch.h"

namespace aplomb::pickle {
namespace {

using test::little;
using namespace std::string_literals;

std::string worst(const std::string& bytes, const std::string& path) {
  const tensors::Findings found = audit_pickles(test::as_bytes(bytes), path);
  for (const char* kind : {"pickle.dangerous", "pickle.suspicious", "pickle.inconclusive"}) {
    const bool any = std::any_of(found.list().begin(), found.list().end(),
                                 [&](const tensors::Finding& each) { return each.kind == kind; });
    if (any) return kind;
  }
  return "";
}

std::string text(const std::string& value) { return "X" + little(value.size(), 4) + value; }
std::string global(const std::string& full) {
  const std::size_t dot = full.rfind('.');
  return "c" + full.substr(0, dot) + "\n" + full.substr(dot + 1) + "\n";
}
std::string call(const std::string& callable, const std::string& arguments) {
  return callable + "(" + arguments + "tR";
}
std::string pickled(const std::string& body) { return "\x80\2" + body + "."; }
std::string pickled4(const std::string& body) { return "\x80\4" + body + "."; }
std::string named(const std::string& module, const std::string& name) {
  return text(module) + text(name) + "\x93";
}
const std::string k_evil = pickled(call(global("os.system"), text("true")));
const std::string k_good = pickled("}" + text("a") + "K\1s");

TEST(PickleAudit, ADottedNameIsFollowedAsTheUnpicklerFollowsIt) {
  for (const auto& [module, name] : std::vector<std::pair<std::string, std::string>>{
           {"random", "_os.system"},
           {"argparse", "_os.system"},
           {"torch", "serialization.os.system"},
           {"torch.serialization", "os.system"},
           {"transformers.trainer_utils", "os.system"},
           {"collections", "_sys.modules"},
           {"torch.nn.modules.linear", "Linear.__init__.__globals__"},
           {"numpy", "ndarray.tofile"},
           {"builtins", "str.__class__"},
           {"pathlib", "Path.unlink"}}) {
    EXPECT_EQ(worst(pickled4(call(named(module, name), text("x"))), "a.pkl"), "pickle.dangerous")
        << module << " " << name;
  }
}

TEST(PickleAudit, WhatRunsCodeIsDangerousHoweverItIsCalled) {
  const std::string arguments = text("true");
  const std::vector<std::pair<const char*, std::string>> ways = {
      {"reduce", pickled(call(global("os.system"), arguments))},
      {"inst", pickled("(" + arguments + "ios\nsystem\n")},
      {"obj", pickled("(" + global("os.system") + arguments + "o")},
      {"newobj", pickled(global("subprocess.Popen") + ")\x81")},
      {"newobj_ex", pickled4(global("subprocess.Popen") + ")}\x92")},
      {"memo", pickled4(text("os") + "\x94" + text("system") + "\x94" + "00h\0h\1\x93"s + "(" +
                        arguments + "tR")},
      {"memo_rewritten", pickled4(text("collections") + "q\5"s + "0" + text("os") + "q\5"s +
                                  "0h\5"s + text("system") + "\x93(" + arguments + "tR")},
      {"computed", pickled4(text("os") + call(global("builtins.str"), text("system")) + "\x93)R")},
      {"persistent",
       pickled("(" + text("storage") + global("os.system") + text("0") + text("cpu") + "K\1tQ")},
      {"build", pickled(global("argparse.Namespace") + ")\x81}" + text("__setstate__") +
                        global("os.system") + "sb" + arguments + "b")},
      {"class_itself", pickled(global("torch.nn.modules.linear.Linear") + "}b")},
      {"rebuild", pickled(call(global("torch._tensor._rebuild_from_type_v2"),
                               global("os.system") + "N(" + arguments + "tN"))},
      {"partial", pickled(call(global("functools.partial"), global("os.system")))},
      {"popped", pickled(call(global("os.system"), arguments) + "0N")},
      {"getattr", pickled(call(global("builtins.getattr"),
                               call(global("builtins.__import__"), text("os")) + text("system")))},
      {"import_dotted",
       pickled(call(global("torch._utils._import_dotted_name"), text("os.system")))},
      {"ufunc",
       pickled(call(global("numpy.core._ufunc_reconstruct"), text("os") + text("system")))},
      {"broken_behind", "\x80\2" + call(global("os.system"), arguments) + "\xff\xff"},
      {"cut_behind", "\x80\2" + call(global("os.system"), arguments) + "X\xff\xff"},
      {"protocol0", "cos\nsystem\n(S'true'\ntR."},
      {"python2", pickled(call(global("__builtin__.eval"), arguments))},
      {"inner_bytes", pickled(call(global("torch.storage._load_from_bytes"),
                                   "B" + little(k_evil.size(), 4) + k_evil))}};
  for (const auto& [name, bytes] : ways) {
    EXPECT_EQ(worst(bytes, "a.pkl"), "pickle.dangerous") << name;
  }
}

/// A bound method of an object that a checkpoint may hold: what an attacker has where no dangerous
/// name is needed (TrainerState.save_to_json writes where it is told to).
std::string bound() {
  return call(global("builtins.getattr"), global("transformers.trainer_callback.TrainerState") +
                                              ")\x81}b" + text("save_to_json"));
}

TEST(PickleAudit, AFunctionHandedToWhatCallsItIsDangerousWithoutADangerousName) {
  const std::string place = text("/tmp/x");
  const std::string made = call(global("argparse.Namespace"), "");
  const std::string trap = text("__setstate__") + bound();
  const std::string later = "b" + place + "b";
  const std::vector<std::pair<const char*, std::string>> ways = {
      {"called", call(bound(), place)},
      {"generator", call(global("numpy.random._pickle.__generator_ctor"), place + bound())},
      {"bit generator", call(global("numpy.random._pickle.__bit_generator_ctor"),
                             global("torch.distributions.kl._Match"))},
      {"rebuild", call(global("torch._tensor._rebuild_from_type"),
                       bound() + global("torch.Tensor") + "(" + place + "t}")},
      {"iterator", call(global("builtins.list"),
                        call(global("builtins.iter"),
                             call(global("functools.partial"), bound() + place) + "N"))},
      {"setstate", made + "}" + trap + "s" + later},
      {"setstate computed",
       made + "}" + call(global("builtins.str"), text("__setstate__")) + bound() + "s" + later},
      {"setstate in pairs",
       made + call(global("collections.OrderedDict"), "]("s + trap + "ta") + later},
      {"setstate in a tuple", made + call(global("builtins.dict"), "((" + trap + "tt") + later},
      {"setstate copied", made + call(global("builtins.dict"), "}" + trap + "s") + later},
      {"setstate with a factory",
       made + call(global("collections.defaultdict"), "N}" + trap + "s") + later},
      {"setstate in a class of dictionaries",
       made + global("transformers.modeling_outputs.BaseModelOutput") + ")\x81" + trap + "s" +
           later},
      {"setstate in slots", made + "(N}" + trap + "st" + later},
      {"setstate in a class of tuples", made + global("torch.nn.modules.module._IncompatibleKeys") +
                                            "(N}" + trap + "st\x81" + later}};
  for (const auto& [name, body] : ways) {
    EXPECT_EQ(worst(pickled(body), "a.pkl"), "pickle.dangerous") << name;
  }
}

TEST(PickleAudit, WhatWritesThroughAListedLibraryIsDangerous) {
  for (const char* name : {"pyarrow.lib.OSFile", "pyarrow.lib.create_memory_map",
                           "pyarrow.lib.output_stream", "pyarrow.lib.memory_map"}) {
    EXPECT_EQ(worst(pickled(call(global(name), text("/tmp/x"))), "a.pkl"), "pickle.dangerous")
        << name;
  }
  for (const char* name :
       {"torch.nn.modules.module._global_forward_hooks", "transformers.activations.ACT2FN"}) {
    EXPECT_EQ(
        worst(pickled(global(name) + "K\0"s + global("torch.nn.functional.relu") + "s"), "a.pkl"),
        "pickle.dangerous")
        << name;
  }
  EXPECT_EQ(worst(pickled(call(global("torch.distributed.checkpoint.filesystem.FileSystemWriter"),
                               text("/tmp/x"))),
                  "a.pkl"),
            "pickle.dangerous");
  for (const std::string& body :
       {call(global("builtins.list"), call(global("builtins.range"), "J\0\0\0\x40"s)),
        call(global("builtins.bytearray"), "J\0\0\0\x40"s),
        global("torch._tensor._rebuild_from_type_v2") +
            global("torch.nn.modules.module._IncompatibleKeys") + "(K\1K\2t\x81R"}) {
    EXPECT_EQ(worst(pickled(body), "a.pkl"), "pickle.suspicious") << body;
  }
}

/// The unpickler calls `append`, `extend`, `add`, `__setitem__` and `__setstate__` by itself: where a
/// pickle has chosen what stands under these names, no call needs to be written at all.
TEST(PickleAudit, WhatTheUnpicklerCallsByItselfIsFollowed) {
  const std::string run = global("torch.nn.functional.relu");  // stands for whatever runs
  const std::string space = call(global("argparse.Namespace"), "");
  const auto planted = [&](const std::string& name) { return "}" + text(name) + run + "sb"; };
  const std::string module = global("torch.nn.modules.linear.Identity") + ")\x81";
  const std::string table = global("lightning_fabric.utilities.data.AttributeDict") + ")\x81";
  const std::string partial = call(global("functools.partial"), global("builtins.list"));
  const std::vector<std::pair<const char*, std::string>> ways = {
      {"add", space + planted("add") + "(K\1\x90"},
      {"add of a dictionary",
       call(global("collections.OrderedDict"), "") + planted("add") + "(K\1\x90"},
      {"add of a class", global("sklearn.linear_model._base.LinearRegression") + ")\x81" +
                             planted("add") + "(K\1\x90"},
      {"append", space + planted("append") + "K\1a"},
      {"extend", space + planted("extend") + "(K\1K\2e"},
      {"append in slots", space + "N}" + text("append") + run + "s\x86" + "bK\1a"},
      {"append of a table", table + text("append") + run + "s" + "K\1a"},
      {"state of a table", table + text("__setstate__") + run + "s" + "K\1b"},
      {"add of a table", table + "(" + text("add") + run + "u(K\1\x90"},
      {"append of a module",
       module + "}" + text("_modules") + "}" + text("append") + run + "ssb" + "K\1a"},
      {"append of a module, later", module + "}q\5" + text("_modules") + "}q\6sb" + "h\6" +
                                        text("append") + run + "s0" + "K\1a"},
      {"a key that is called", global("pandas.core.series.Series") + ")\x81}b" + run + "K\1s"},
      {"state twice", global("torch.nn.modules.linear.Linear") + ")\x81}b}b"},
      {"partial filled anew", partial + "(" + run + ")}Ntb"},
      {"end of an object", global("torch.nn.modules.linear.Linear") + ")\x81" + planted("_close")},
      {"rebuilt with attributes", call(global("torch._tensor._rebuild_from_type_v2"),
                                       global("argparse.Namespace") + global("torch.Tensor") +
                                           ")}" + text("append") + run + "s")}};
  for (const auto& [name, body] : ways) {
    EXPECT_EQ(worst(pickled4(body), "a.pkl"), "pickle.dangerous") << name;
  }
  // As picklers write them: items, pairs, state.
  for (const std::string& body :
       {call(global("collections.deque"), "") + "(K\1K\2e",
        call(global("collections.OrderedDict"), "") + "K\1K\2s}" + text("_metadata") + "Nsb",
        space + "}" + text("update") + "\x88s" + text("add") + "K\1sb",
        global("torch.nn.modules.container.Sequential") + ")\x81}" + text("_modules") + "}" +
            text("append") + global("torch.nn.modules.linear.Identity") + ")\x81}bssb",
        call(global("functools.partial"), run) + "(" + run + ")}Ntb"}) {
    EXPECT_EQ(worst(pickled4(body), "a.pkl"), "") << body;
  }
}

/// Modules hand on what they have imported, and libraries hold functions that no pickle needs.
TEST(PickleAudit, ALibraryIsNoReasonToTrustANameInIt) {
  for (const char* name :
       {"sklearn.utils._testing.assert_run_python_script_without_output",
        "sklearn.datasets._base.makedirs", "sklearn.datasets._base.clear_data_home",
        "sklearn.datasets._california_housing.remove", "pandas.core.generic.to_pickle",
        "torch.distributed.checkpoint.state_dict_saver.save", "torch.nn.modules.module.warn_call",
        "scipy.stats._axis_nan_policy.apply_over_axes"}) {
    EXPECT_EQ(worst(pickled(global(name)), "a.pkl"), "pickle.dangerous") << name;
  }
  for (const char* name :
       {"sklearn.datasets._covtype.GzipFile", "sklearn.datasets._lfw.Memory",
        "lightning_fabric.utilities.cloud_io.Path", "torch.nn.modules.module.namedtuple",
        "torch.nn.functional.handle_torch_function", "sklearn.base.clone"}) {
    EXPECT_EQ(worst(pickled(global(name)), "a.pkl"), "pickle.suspicious") << name;
    EXPECT_EQ(worst(pickled(call(global(name), text("a/b"))), "a.pkl"), "pickle.dangerous") << name;
  }
  // Another version's rebuilders and classes.
  EXPECT_EQ(worst(pickled(call(global("torch._utils_of_old._rebuild_thing"), "K\1")), "a.pkl"),
            "pickle.suspicious");
  EXPECT_EQ(worst(pickled(global("sklearn.svm.classes.SVC") + ")\x81}b"), "a.pkl"),
            "pickle.suspicious");
  for (const char* name :
       {"sklearn.linear_model._base.LinearRegression", "pandas.core.frame.DataFrame",
        "torchmetrics.metric.Metric", "sklearn.gaussian_process._gpc.GaussianProcessClassifier",
        "lightning.fabric.utilities.data.AttributeDict", "torch.nn.utils.prune.L1Unstructured"}) {
    EXPECT_EQ(worst(pickled(global(name) + ")\x81}b"), "a.pkl"), "") << name;
  }
  for (const char* name : {"torch.nn.functional.gelu", "sklearn.metrics._ranking.roc_auc_score",
                           "torch.nn.init.xavier_uniform_", "numpy.log1p", "numpy.record"}) {
    EXPECT_EQ(worst(pickled(global(name)), "a.pkl"), "") << name;
  }
  const std::string functions = global("torch._C._VariableFunctionsClass");
  const auto member = [&](const char* name) {
    return pickled(call(global("__builtin__.getattr"), functions + text(name)));
  };
  EXPECT_EQ(worst(member("relu"), "a.pkl"), "");
  EXPECT_EQ(worst(member("from_file"), "a.pkl"), "pickle.dangerous");
  EXPECT_EQ(worst(member("__class__"), "a.pkl"), "pickle.dangerous");
}

TEST(PickleAudit, APickleMayBeginWithAnyOpcode) {
  const std::string evil = k_evil.substr(2);
  for (const std::string& first :
       {"\x88"s + "0", "\x89"s + "0", "U\1a0"s, "T\1\0\0\0a0"s, "C\1a0"s, "B\1\0\0\0a0"s,
        "\x8a\1\1"s + "0", "\x8f"s + "0", "\x8d\1\0\0\0\0\0\0\0a0"s, "\x95\1\0\0\0\0\0\0\0"s}) {
    EXPECT_EQ(worst(first + evil, "pytorch_model.bin"), "pickle.dangerous")
        << ::testing::PrintToString(first);
    EXPECT_EQ(worst(k_good + first + evil, "a.pkl"), "pickle.dangerous");
    EXPECT_EQ(worst(test::zip({{"a/weights", first + evil}}), "a.pt"), "pickle.dangerous");
  }
  // Names in the escapes of protocol 0.
  EXPECT_EQ(worst("S'p\\157six'\nS's\\171stem'\n\x93(S'true'\ntR.", "a.pkl"), "pickle.dangerous");
}

std::string from_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

// What Python's bz2 and lzma make of k_evil.
constexpr std::string_view k_evil_bz2 =
    "425a68393141592653590f39a61700000cd3c05410004110400a029e2040002000314d323131310a3403"
    "d4d3d27a8d492d70e4400de26b0b770532f8bb9229c2848079cd30b8";
constexpr std::string_view k_evil_xz =
    "fd377a585a000004e6d6b4460200210116000000742fe5a30100198002636f730a73797374656d0a2858"
    "040000007472756574522e00000061de21f89f3e1df30001321a201894301fb6f37d010000000004595a";
constexpr std::string_view k_evil_lzma =
    "5d00008000ffffffffffffffff0040008803bc30bd34de2f5e26d069f33fb0b138bda35603f38f4dab1f"
    "ab55ffffac860000";

TEST(PickleAudit, WhatIsPackedIsUnpacked) {
  EXPECT_EQ(worst(from_hex(k_evil_bz2), "a.pkl.bz2"), "pickle.dangerous");
  EXPECT_EQ(worst(from_hex(k_evil_xz), "model.joblib"), "pickle.dangerous");
  EXPECT_EQ(worst(from_hex(k_evil_lzma), "a.joblib"), "pickle.dangerous");
  // Cut: not called safe, and what stood before is judged.
  EXPECT_EQ(worst(from_hex(k_evil_xz).substr(0, 40), "a.pkl.xz"), "pickle.inconclusive");
}

std::string npy(const std::string& header, const std::string& body) {
  return "\x93NUMPY\1\0"s + little(header.size(), 2) + header + body;
}

TEST(PickleAudit, AnArrayOfObjectsIsOneHoweverItsHeaderSaysIt) {
  for (const char* type : {"'|O'", "'O8'", "'|O8'", "'object'", "\"|O\"", "'|\\x4f'", "'|' 'O'",
                           "[('a', '<f4'), ('b', \"O\")]"}) {
    const std::string header =
        "{'descr': " + std::string(type) + ", 'fortran_order': False, 'shape': (1,), }\n";
    EXPECT_EQ(worst(npy(header, k_evil), "a.npy"), "pickle.dangerous") << type;
    EXPECT_EQ(worst(test::zip({{"w.npy", npy(header, k_evil)}}), "a.npz"), "pickle.dangerous");
  }
  EXPECT_EQ(worst(npy("{'descr': [('Odd', '<f4'), ('object', '<f4')], 'fortran_order': False, "
                      "'shape': (1,), }\n",
                      std::string(8, '\x41')),
                  "a.npy"),
            "");
}

/// As joblib writes an array of `count` bytes of a type.
std::string joblib_array(const std::string& type, std::size_t count) {
  return global("joblib.numpy_pickle.NumpyArrayWrapper") + ")\x81}(" + text("shape") + "K" +
         static_cast<char>(count) + "\x85" + text("dtype") + type + "ub";
}
std::string dtype(const std::string& word, const std::string& state) {
  return call(global("numpy.dtype"), text(word) + "K\0K\1"s) + state + "b";
}

TEST(PickleAudit, TheBytesOfJoblibsArraysAreReadAsPickleLoadReadsThem) {
  const std::string bytes = dtype("u1", "(K\3t");
  const std::string evil = k_evil.substr(2, k_evil.size() - 3) + "0";
  EXPECT_EQ(worst(pickled(joblib_array(bytes, evil.size()) + evil), "a.pkl"), "pickle.dangerous");
  // What was pushed before the array is there as well.
  const std::string rest = "0\x93(" + text("true") + "tR0N";
  EXPECT_EQ(worst(pickled(text("os") + text("system") + joblib_array(bytes, rest.size()) + rest),
                  "a.joblib"),
            "pickle.dangerous");
  const std::string numbers(100, '\x41');
  EXPECT_EQ(worst(pickled(joblib_array(bytes, numbers.size()) + numbers), "a.joblib"), "");
  // A record with a field of objects is a pickle, as an array of objects is.
  const std::string record =
      dtype("V8", "(K\3}" + text("a") + "(" + dtype("O8", "(K\3t") + "K\0tst"s);
  EXPECT_EQ(worst(pickled(joblib_array(record, 1) + k_evil + "."), "a.joblib"), "pickle.dangerous");
}

/// A member as tars of 1979 have it, without a mark; `link`: what a link of type 2 names.
std::string tar_member(const std::string& name, const std::string& data, const std::string& link) {
  std::string head(512, '\0');
  head.replace(0, name.size(), name);
  head.replace(100, 7, "0000644");
  std::string size = fmt::format("{:011o}", data.size());
  head.replace(124, size.size(), size);
  head.replace(148, 8, "        ");
  head[156] = link.empty() ? '0' : '2';
  head.replace(157, link.size(), link);
  std::uint64_t sum = 0;
  for (const char each : head) sum += static_cast<unsigned char>(each);
  const std::string stated = fmt::format("{:06o}", sum) + "\0 "s;
  head.replace(148, 8, stated);
  return head + data + std::string((512 - data.size() % 512) % 512, '\0');
}

TEST(PickleAudit, AMemberOfATarIsReadWhateverStandsBeforeIt) {
  const std::string end(1024, '\0');
  EXPECT_EQ(worst(tar_member("m.pkl", k_evil, "") + end, "a.tar"), "pickle.dangerous");
  EXPECT_EQ(worst(tar_member("", "x", "") + tar_member("m.pkl", k_evil, "") + end, "a.tar"),
            "pickle.dangerous");
  EXPECT_EQ(worst(end + tar_member("m.pkl", k_evil, "") + end, "a.tar"), "");  // no tar at all
  EXPECT_EQ(worst(tar_member("a", "x", "") + end + tar_member("m.pkl", k_evil, ""), "a.tar"),
            "pickle.dangerous");
  EXPECT_EQ(worst(tar_member("m.pkl", k_good, "") + end, "a.tar"), "");
}

TEST(PickleAudit, AnArchiveThatNamesPlacesOutsideOfItsFolderIsTold) {
  const std::string end(1024, '\0');
  const auto kinds = [](const std::string& bytes) {
    const tensors::Findings found = audit_pickles(test::as_bytes(bytes), "a.tar");
    return found.list().empty() ? std::string() : found.list()[0].kind;
  };
  EXPECT_EQ(kinds(tar_member("../../x", "x", "") + end), "code.path");
  EXPECT_EQ(kinds(tar_member("/etc/x", "x", "") + end), "code.path");
  EXPECT_EQ(kinds(tar_member("l", "", "/etc") + end), "code.path");
  EXPECT_EQ(kinds(tar_member("a/l", "", "../../b") + end), "code.path");
  EXPECT_EQ(kinds(test::zip({{"../x", "x"}})), "code.path");
  // What stays inside, as caches of hubs lay their links.
  EXPECT_EQ(kinds(tar_member("s/x/l", "", "../../blobs/b") + tar_member("./a/../b", "x", "") + end),
            "");
}

TEST(PickleAudit, APatternOfNamesReachesNoOtherModule) {
  const std::string save = named("sklearn.ensemble._hist_gradient_boosting.binning", "np.save");
  EXPECT_EQ(worst(pickled4(call(save, text("/tmp/x") + "K\1")), "a.pkl"), "pickle.dangerous");
  const std::string builder =
      global("deepspeed.runtime.data_pipeline.data_sampling.indexed_dataset.IndexedDatasetBuilder");
  EXPECT_EQ(worst(pickled(call(builder, text("x"))), "a.pkl"), "pickle.dangerous");
}

TEST(PickleAudit, WhatTakesAllOfAnIteratorOrOfANumberIsSuspicious) {
  const std::string count = call(global("itertools.count"), "");
  for (const std::string& made :
       {call(global("collections.deque"), count), call(global("collections.Counter"), count),
        call(global("array.array"), text("B") + count),
        call(global("fractions.Fraction"), text("1e999999999")),
        call(global("torch.UntypedStorage"), "\x8a\6\0\0\0\0\0\1"s)})
    EXPECT_EQ(worst(pickled(made), "a.pkl"), "pickle.suspicious");
  for (const std::string& made : {count, call(global("fractions.Fraction"), text("3/4")),
                                  call(global("torch.UntypedStorage"), "K\4")})
    EXPECT_EQ(worst(pickled(made), "a.pkl"), "");
}

TEST(PickleAudit, TorchScriptThatWritesIsDangerous) {
  const auto archive = [](const std::string& source) {
    return test::zip({{"a/data.pkl", k_good}, {"a/code/__torch__/m.py", source}});
  };
  for (const char* source : {"def __setstate__(self, s):\n    torch.save(s, \"/tmp/x\")\n",
                             "  x = f(\"#\", torch . save(s, \"/tmp/x\"))\n",
                             "  x = (torch. # a comment\n    from_file(\"/tmp/x\", True, 5))\n",
                             "  ops.aten.save(s, \"/tmp/x\")\n"}) {
    EXPECT_EQ(worst(archive(source), "a.pt"), "pickle.dangerous") << source;
  }
  EXPECT_EQ(
      worst(archive("  # torch.save(x)\n  print(\"torch.save(x)\")\n  self.save(x)\n"), "a.pt"),
      "");
}

TEST(PickleAudit, EveryPickleOfAStreamIsRead) {
  EXPECT_EQ(worst(k_good + k_evil, "a.pkl"), "pickle.dangerous");
  std::string many;
  for (int i = 0; i < 200; ++i) many += k_good;
  EXPECT_EQ(worst(many, "a.pkl"), "");
  EXPECT_EQ(worst(many + k_evil, "a.pkl"), "pickle.dangerous");
  EXPECT_EQ(worst("\0junk"s + k_evil, "a.pt"), "pickle.dangerous");
  EXPECT_EQ(worst("#!/bin/sh\n" + k_evil, "a.pt"), "pickle.dangerous");
  EXPECT_EQ(worst(k_good + std::string(64, '\0') + k_evil, "a.bin"), "pickle.dangerous");
}

TEST(PickleAudit, EveryMemberOfAnArchiveIsRead) {
  for (const char* name :
       {"a/extra.pkl", "a/x.pickle", "a/x.bin", "a/x.pt", "payload", "b/data.pkl"}) {
    const std::string archive = test::zip({{"a/data.pkl", k_good}, {name, k_evil}});
    EXPECT_EQ(worst(archive, "a.pt"), "pickle.dangerous") << name;
    const std::string outer = test::zip({{"deep/inner.bin", archive}});
    EXPECT_EQ(worst(outer, "a.bin"), "pickle.dangerous") << name;
    EXPECT_EQ(worst("junk" + archive, "a.bin"), "pickle.dangerous") << name;
    EXPECT_EQ(worst(archive + archive, "a.distcp"), "pickle.dangerous") << name;
  }
  EXPECT_EQ(worst(test::zip({{"a/data.pkl", k_good}, {"a/data/0", "abc"}}), "a.pt"), "");
}

TEST(PickleAudit, TwoMembersOfOneNameAreAFindingAndBothAreJudged) {
  EXPECT_EQ(worst(test::zip({{"a/data.pkl", k_good}, {"a/data.pkl", k_good}}), "a.pt"),
            "pickle.suspicious");
  for (const bool first : {false, true}) {
    EXPECT_EQ(worst(test::zip({{"a/data.pkl", first ? k_evil : k_good},
                               {"a/data.pkl", first ? k_good : k_evil}}),
                    "a.pt"),
              "pickle.dangerous");
  }
}

TEST(PickleAudit, MembersThatTheDirectoryHidesAreFound) {
  const std::string hidden = test::zip({{"x.pkl", k_evil}});
  const std::string shown = test::zip({{"a/data.pkl", k_good}});
  // The hidden member's own header and bytes, before an archive that does not list it: torch finds
  // a directory by its end.
  EXPECT_EQ(worst(hidden.substr(0, hidden.find("PK\1\2")) + shown, "a.pt"), "pickle.dangerous");
}

TEST(PickleAudit, WhatIsOnNoListIsSuspicious) {
  for (const std::string& body :
       {call(global("my_package.loader.load"), ""), global("my_package.Thing") + ")\x81",
        "\x82\1)R"s, "\x83\1\2)R"s, "\x84\1\2\0\0)R"s, call(global("builtins.print"), "K\1"),
        call(global("torch.nn.functional.relu"), "K\1"),
        call(global("torch.nn.modules.linear.Linear"), "K\1K\2"), "("s + text("odd") + "K\1tQ"}) {
    EXPECT_EQ(worst(pickled(body), "a.pkl"), "pickle.suspicious") << body;
  }
}

TEST(PickleAudit, WhatCannotBeFollowedIsInconclusive) {
  std::string locked = test::zip({{"a/data.pkl", k_good}});
  locked[locked.find("PK\1\2") + 8] = 1;
  for (const std::string& bytes :
       {k_good.substr(0, k_good.size() - 2), "\x80\2\xf0."s, "\x80\2h\x09."s, "\x80\2"s + "0."s,
        "\x80\x09N."s, test::zip({{"a/data.pkl", k_good, 0, 12}}), locked,
        test::zip({{"a/data.pkl", k_good}}).substr(0, 60),
        "\xFD"
        "7zXZ\0\0\1"s}) {
    EXPECT_EQ(worst(bytes, "a.pt"), "pickle.inconclusive") << ::testing::PrintToString(bytes);
  }
}

TEST(PickleAudit, WhatCheckpointsHoldIsNothing) {
  const std::string tensor = test::state_dict(2);
  for (const std::string& body :
       {call(global("collections.OrderedDict"), ""), global("argparse.Namespace") + ")\x81}b",
        global("torch.optim.adamw.AdamW") + ")\x81}b",
        global("transformers.training_args.TrainingArguments") + ")\x81}b",
        call(global("transformers.trainer_utils.IntervalStrategy"), text("steps")),
        call(global("builtins.getattr"),
             global("transformers.trainer_utils.HubStrategy") + text("END")),
        call(global("pathlib.PosixPath"), text("out")), call(global("torch.device"), text("cpu")),
        call(global("functools.partial"), global("torch.nn.functional.relu")),
        call(global("datetime.timedelta"), "K\1K\2K\3"), global("__main__.Config") + ")\x81}b",
        call(global("numpy.random._pickle.__randomstate_ctor"), text("MT19937"))}) {
    EXPECT_EQ(worst(pickled(body), "a.pkl"), "") << body;
  }
  EXPECT_EQ(worst(test::zip({{"a/data.pkl", tensor}, {"a/data/0", std::string(8, '\0')}}), "a.pt"),
            "");
}

/// Numbers of a tensor may be opcodes for a while.
TEST(PickleAudit, RawNumbersAreNoPickles) {
  for (const std::string& numbers :
       {"\x82\x46\x93\xbc"s, "K\1K\2\x93(tR."s, "\x88\x89\x93\x88"s, "NN\x93)R."s, "]]\x93)R."s,
        "G\1\2\3\4\5\6\7\x08R"s, "U\2abR"s, "(K\1K\2tR."s, "\x95\0\0\0\0\0\0\0\0\x93"s}) {
    EXPECT_EQ(worst(test::zip({{"a/data.pkl", k_good}, {"a/data/0", numbers}}), "a.pt"), "")
        << ::testing::PrintToString(numbers);
  }
}

TEST(PickleAudit, OtherFormatsAreNoPicklesAndPolyglotsAre) {
  EXPECT_EQ(worst("{\"a\": 1}", "a.json"), "");
  EXPECT_EQ(worst("step 1 loss 2\n", "train.log"), "");
  EXPECT_EQ(worst("GGUF\3\0\0\0\0\0\0\0"s, "a.gguf"), "");
  // GGUF as the first bytes of a pickle: `G` and eight bytes are a number.
  EXPECT_EQ(worst("GGUF\0\0\0\0\0"s + "0" + k_evil.substr(2), "a.pt"), "pickle.dangerous");
  const std::string lie = "X\x0a\0\0\0\0\0\0{      0"s + k_evil.substr(2) + std::string(3000, ' ');
  EXPECT_EQ(worst(lie, "a.pt"), "pickle.dangerous");
}

TEST(PickleAudit, TheWorstIsNotLostAmongOthers) {
  std::string body;
  for (int i = 0; i < 1000; ++i) body += global("package" + std::to_string(i) + ".Thing") + "0";
  EXPECT_EQ(worst(pickled(body + call(global("os.system"), text("x"))), "a.pkl"),
            "pickle.dangerous");
}

}  // namespace
}  // namespace aplomb::pickle
