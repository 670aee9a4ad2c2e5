#include "knowledge/code_book.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace aplomb::knowledge {
namespace {

TEST(CodeBook, IsSound) {
  for (const std::string& mistake : code_book().mistakes) ADD_FAILURE() << mistake;
  EXPECT_GT(code_book().entries.size(), 100U);
}

TEST(CodeBook, WhatAPatternIsBuiltOnStandsBeforeIt) {
  const std::vector<CodeEntry>& all = code_book().entries;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const CodePattern& pattern : all[i].patterns) {
      for (const std::string& id : pattern.has) {
        EXPECT_TRUE(std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i),
                                [&](const CodeEntry& other) { return other.id == id; }))
            << all[i].id << " needs " << id;
      }
    }
  }
}

TEST(CodeBook, AFindingThatIsAMistakeHasAFactOfItsOwn) {
  EXPECT_EQ(mistake_fact("code.no-zero-grad"), "code.mistake.no-zero-grad");
  const CodeEntry* entry = code_book().find("code.no-zero-grad");
  ASSERT_NE(entry, nullptr);
  EXPECT_TRUE(entry->is_mistake);
  EXPECT_EQ(entry->severity, core::Severity::unstable);
  EXPECT_EQ(code_book().find("code.nothing-of-the-kind"), nullptr);
}

TEST(CodeBook, FillsInWhatIsKnownAndNamesWhatIsNot) {
  EXPECT_EQ(filled_in("{rate} of {optimizer}", {{"rate", "0.1"}}), "0.1 of the optimizer");
  EXPECT_EQ(filled_in("an open { brace", {}), "an open { brace");
}

}  // namespace
}  // namespace aplomb::knowledge
