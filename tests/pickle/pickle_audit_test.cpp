// Every pickle of a file is judged, whatever it lies in, and none is called safe that cannot be
// followed. The bytes are those of an attacker; nothing here loads them.

#include "pickle/pickle_audit.h"

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
