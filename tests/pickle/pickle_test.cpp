#include "pickle/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/made_checkpoints.h"
#include "checkpoint/pickle_walk.h"
#include "checkpoint/torch_file.h"

namespace aplomb::pickle {
namespace {

using test::as_bytes;
using test::little;
using ::testing::HasSubstr;

std::string operator""_p(const char* text, std::size_t size) { return {text, size}; }

std::size_t dangerous(const PickleDocument& document) {
  std::size_t count = 0;
  for (const tensors::Finding& each : document.findings.list()) {
    count += each.kind == "pickle.dangerous" ? 1U : 0U;
  }
  return count;
}

TEST(Pickle, ReadsTheSameDictInProtocolsZeroAndFour) {
  // pickle.dumps({'a': [1, -2.5, None, True], 'b': 'é'}, protocol=0) and protocol=4
  const std::string old = "(dp0\nVa\np1\n(lp2\nI1\naF-2.5\naNaI01\nasVb\np3\nV\xe9\np4\ns."_p;
  const std::string fresh =
      "\x80\x04\x95\x26\0\0\0\0\0\0\0}\x94(\x8c\x01"
      "a\x94]\x94(K\x01G\xc0\x04\0\0\0\0\0\0N\x88"
      "e\x8c\x01"
      "b\x94\x8c\x02\xc3\xa9\x94u."_p;
  for (const std::string& bytes : {old, fresh}) {
    const PickleDocument document = read_pickle(bytes, "made");
    ASSERT_FALSE(document.fault) << document.fault->text;
    EXPECT_EQ(document.end, bytes.size());
    const PickleNode& root = document.at(document.root);
    const PickleNode* list = document.find(root, "a");
    ASSERT_NE(list, nullptr);
    ASSERT_EQ(list->items.size(), 4U);
    EXPECT_EQ(document.number(&document.at(list->items[0])), 1);
    EXPECT_EQ(document.number(&document.at(list->items[1])), -2.5);
    EXPECT_EQ(document.at(list->items[2]).kind, PickleKind::none);
    EXPECT_EQ(document.at(list->items[3]).kind, PickleKind::boolean);
    ASSERT_NE(document.find(root, "b"), nullptr);
    EXPECT_EQ(document.find(root, "b")->text, "é");
  }
}

TEST(Pickle, LongsKeepTheirSign) {
  const PickleDocument document = read_pickle("\x80\x02\x8a\x01\xff."_p, "made");
  ASSERT_FALSE(document.fault);
  EXPECT_EQ(document.number(&document.at(document.root)), -1);
}

/// Exploits as they are published: each of them runs a command in Python's own unpickler.
struct Exploit {
  const char* name;
  std::string bytes;
  const char* said;
};
class Exploits : public ::testing::TestWithParam<Exploit> {};

TEST_P(Exploits, AreNamedAndRunNothing) {
  const std::string proof = "/tmp/aplomb-pickle-exploit-ran";
  std::filesystem::remove(proof);
  const PickleDocument document = read_pickle(GetParam().bytes, "made");
  EXPECT_GE(dangerous(document), 1U);
  ASSERT_FALSE(document.findings.list().empty());
  EXPECT_THAT(document.findings.list(), ::testing::Contains(::testing::Field(
                                            &tensors::Finding::text, HasSubstr(GetParam().said))));
  EXPECT_FALSE(std::filesystem::exists(proof));
}

#define APLOMB_TOUCH "touch /tmp/aplomb-pickle-exploit-ran"
INSTANTIATE_TEST_SUITE_P(
    Pickle, Exploits,
    ::testing::Values(
        Exploit{"os_system", "cos\nsystem\n(S'" APLOMB_TOUCH "'\ntR."_p, "os.system"},
        Exploit{"posix_system_protocol4",
                "\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x24" APLOMB_TOUCH
                "\x94\x85\x94R\x94."_p,
                "posix.system"},
        Exploit{"eval", "c__builtin__\neval\n(V__import__('os').system('" APLOMB_TOUCH "')\ntR."_p,
                "__builtin__.eval"},
        Exploit{"inst", "(S'" APLOMB_TOUCH "'\nios\nsystem\n."_p, "os.system"},
        Exploit{"obj", "(cos\nsystem\nS'" APLOMB_TOUCH "'\no."_p, "os.system"},
        Exploit{"subprocess", "csubprocess\nPopen\n((lS'touch'\natR."_p, "subprocess.Popen"},
        Exploit{"runpy", "crunpy\n_run_code\n(S'1'\n}tR."_p, "runpy._run_code"},
        Exploit{"getattr", "cbuiltins\ngetattr\n(ctorch\nnn\nS'x'\ntR."_p, "builtins.getattr"},
        Exploit{"attribute_path",
                "\x80\x04\x8c\x05torch\x8c\x17serialization.os.system\x93\x8c\x01x\x85R."_p,
                "torch.serialization.os.system"},
        Exploit{"hidden_name", "\x80\x04]\x8c\x06system\x93)R."_p, "computed"},
        Exploit{"broken_behind", "cos\nsystem\n(S'" APLOMB_TOUCH "'\ntR\xff\xff"_p, "os.system"}),
    [](const auto& each) { return each.param.name; });

TEST(Pickle, AnUnknownClassIsKeptAsAnObjectAndIsOnlySuspicious) {
  const PickleDocument document =
      read_pickle("cmy_project.config\nConfig\n(S'x'\ntR(dS'lr'\nF0.5\nsb."_p, "made");
  ASSERT_FALSE(document.fault) << document.fault->text;
  EXPECT_EQ(dangerous(document), 0U);
  ASSERT_EQ(document.findings.list().size(), 1U);
  EXPECT_EQ(document.findings.list()[0].kind, "pickle.suspicious");
  const PickleNode& root = document.at(document.root);
  EXPECT_EQ(root.kind, PickleKind::object);
  EXPECT_EQ(root.text, "my_project.config.Config");
  EXPECT_EQ(document.number(document.find(root, "lr")), 0.5);
}

TEST(Pickle, StructuresThatHoldThemselvesAreWalkedOnce) {
  // a = []; a.append(a)  and  d = {}; d['d'] = d
  for (const std::string& bytes : {"]q\0h\0a."_p, "}q\0S'd'\nh\0s."_p}) {
    const PickleDocument document = read_pickle(bytes, "made");
    ASSERT_FALSE(document.fault) << document.fault->text;
    checkpoint::visit_tensors(document, document.root,
                              [](const std::string&, std::size_t) { FAIL(); });
  }
}

TEST(Pickle, SharedListsOfSharedListsCostNoMoreThanTheirBytes) {
  std::string bytes = "]q\0"_p;  // thirty levels of [x, x]: a thousand million leaves if copied
  for (char level = 1; level < 31; ++level) {
    const char before = static_cast<char>(level - 1);
    bytes += "](h"_p + before + "h" + before + "eq" + level;
  }
  const PickleDocument document = read_pickle(bytes + ".", "made");
  ASSERT_FALSE(document.fault) << document.fault->text;
  EXPECT_LT(document.nodes.size(), 100U);
  checkpoint::visit_tensors(document, document.root,
                            [](const std::string&, std::size_t) { FAIL(); });
}

TEST(Pickle, CopiesOfAMemoisedListAreBounded) {
  std::string bytes = "(" + std::string(100'000, 'N') + "lq\0"_p + "cbuiltins\nset\nq\x01";
  for (int i = 0; i < 100'000; ++i) bytes += "h\x01h\0\x85R0"_p;
  const PickleDocument document = read_pickle(bytes + ".", "made");
  ASSERT_TRUE(document.fault.has_value());
  EXPECT_THAT(document.fault->text, HasSubstr("without end"));
}

TEST(Pickle, DamageIsToldWithItsByte) {
  for (const std::string& bytes : {
           ""_p,
           "."_p,
           "0."_p,
           "t."_p,
           "h\x05."_p,
           "\x8e\xff\xff\xff\xff\xff\xff\xff\x7f."_p,
           "X\xff\xff\xff\xffz."_p,
           "}S'a'\ns."_p,
           "Iabc\n."_p,
           "\x80\x09."_p,
           "\xfe."_p,
           "cos\n"_p,
       }) {
    const PickleDocument document = read_pickle(bytes, "made");
    ASSERT_TRUE(document.fault.has_value()) << ::testing::PrintToString(bytes);
    EXPECT_THAT(document.fault->text, HasSubstr("at byte"));
  }
}

TEST(Pickle, DeepNestingIsNoDepthForUs) {
  std::string bytes(200'000, ']');
  bytes += std::string(199'999, 'a') + ".";
  const PickleDocument document = read_pickle(bytes, "made");
  ASSERT_FALSE(document.fault) << document.fault->text;
  checkpoint::visit_tensors(document, document.root,
                            [](const std::string&, std::size_t) { FAIL(); });
}

}  // namespace
}  // namespace aplomb::pickle
