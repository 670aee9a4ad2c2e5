#include "arguments/arguments.h"

#include <gmock/gmock.h>

namespace aplomb::arguments {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A program with one of everything.
struct Cook {
  std::vector<std::string> dishes;
  std::vector<std::string> herbs = {"thyme"};
  std::string oven = "gas";
  int plates = 2;
  std::uint64_t grams = 500;
  double heat = 180;
  bool salt = false;
  Program program{"Cooks a meal.", "cook"};
  Verb bake = program.verb("bake", "In the oven");
  Verb order = program.verb("order", "From somebody else");

  Cook() {
    program.version("cook 3");
    program.requires_verb();
    bake.option("DISH", dishes, "what to bake").required();
    bake.option("--herbs", herbs, "some green").takes_commas();
    bake.option("--oven,-o", oven, "which").one_of({"gas", "wood"}).shows_default();
    bake.option("--plates", plates, "people").within(1, 8).group("Table");
    bake.option("--grams", grams, "flour").positive().value_name("G").last_counts();
    bake.option("--heat", heat, "degrees").within_real(0.5, 300);
    bake.option("--note", "found by the caller");
    bake.flag("--salt,-s", salt, "a pinch");
    bake.footer("Serve hot.");
    order.passes_words_on();
  }
};

std::string complaint(std::vector<std::string> words) {
  const Cook cook;
  const auto stop = cook.program.parse(std::move(words));
  return stop && !stop->is_answer ? stop->text : "";
}

TEST(Arguments, AnUnknownWordIsToldWithTheNearestKnownOne) {
  EXPECT_EQ(
      complaint({"baek", "pie"}),
      "baek is no command of cook.\nDid you mean cook bake?\nRun cook --help for all of them.\n");
  EXPECT_THAT(complaint({"ord"}), HasSubstr("Did you mean cook order?")) << "begun, not misspelt";
  EXPECT_EQ(complaint({"fry"}), "fry is no command of cook.\nRun cook --help for all of them.\n")
      << "nothing is near";
  EXPECT_EQ(
      complaint({"bake", "pie", "--herb=dill"}),
      "--herb is no option of cook bake.\nDid you mean --herbs?\nRun cook bake --help for all of "
      "them.\n");
  EXPECT_THAT(complaint({"bake", "pie", "--xylophone"}), Not(HasSubstr("Did you mean")));
  EXPECT_THAT(complaint({"ba\x1b[31mke"}), Not(HasSubstr("\x1b")));
}

TEST(Arguments, FillsTheVariablesOfTheVerbThatWasNamed) {
  const Cook cook;
  ASSERT_FALSE(cook.program.parse({"bake", "pie", "--oven=wood", "--plates", "4", "--heat", "210.5",
                                   "-s", "--grams", "1", "--grams", "250"}));
  EXPECT_TRUE(cook.bake.is_wanted());
  EXPECT_FALSE(cook.order.is_wanted());
  EXPECT_THAT(cook.dishes, ElementsAre("pie"));
  EXPECT_EQ(cook.oven, "wood");
  EXPECT_EQ(cook.plates, 4);
  EXPECT_EQ(cook.heat, 210.5);
  EXPECT_EQ(cook.grams, 250U) << "the last one counts";
  EXPECT_TRUE(cook.salt);
}

TEST(Arguments, LeavesWhatWasNotGivenAsItWas) {
  const Cook cook;
  ASSERT_FALSE(cook.program.parse({"bake", "pie", "cake"}));
  EXPECT_THAT(cook.dishes, ElementsAre("pie", "cake"));
  EXPECT_THAT(cook.herbs, ElementsAre("thyme"));
  EXPECT_EQ(cook.plates, 2);
  EXPECT_FALSE(cook.salt);
}

TEST(Arguments, TakesAListByCommasAndByRepetition) {
  const Cook cook;
  ASSERT_FALSE(cook.program.parse({"bake", "pie", "--herbs", "sage,mint", "--herbs", "dill"}));
  EXPECT_THAT(cook.herbs, ElementsAre("sage", "mint", "dill"));
}

TEST(Arguments, NamesTheWordThatIsWrong) {
  EXPECT_THAT(complaint({}), HasSubstr("subcommand is required"));
  EXPECT_THAT(complaint({"bake"}), HasSubstr("DISH is required"));
  EXPECT_THAT(complaint({"bake", "pie", "--sugar"}), HasSubstr("--sugar"));
  EXPECT_THAT(complaint({"bake", "pie", "--oven", "coal"}), HasSubstr("coal not in {gas,wood}"));
  EXPECT_THAT(complaint({"bake", "pie", "--plates", "9"}), HasSubstr("9 not in range 1 to 8"));
  EXPECT_THAT(complaint({"bake", "pie", "--plates", "1.5"}), HasSubstr("--plates"));
  EXPECT_THAT(complaint({"bake", "pie", "--plates", "99999999999999999999"}),
              HasSubstr("--plates"));
  EXPECT_THAT(complaint({"bake", "pie", "--heat", "0.4"}), HasSubstr("--heat"));
  EXPECT_THAT(complaint({"bake", "pie", "--grams", "0"}), HasSubstr("--grams"));
  EXPECT_THAT(complaint({"bake", "pie", "--oven", "gas", "--oven", "gas"}), HasSubstr("--oven"));
}

TEST(Arguments, AnswersHelpAndVersion) {
  const Cook cook;
  const auto version = cook.program.parse({"--version"});
  ASSERT_TRUE(version && version->is_answer);
  EXPECT_EQ(version->text, "cook 3\n");
  const auto help = Cook().program.parse({"bake", "--help"});
  ASSERT_TRUE(help && help->is_answer);
  for (const char* piece : {"In the oven", "gas", "--grams G", "Table:", "Serve hot.", "--note"})
    EXPECT_THAT(help->text, HasSubstr(piece));
}

TEST(Arguments, LeavesAnotherProgramsWordsAsTheyAre) {
  const Cook cook;
  ASSERT_FALSE(cook.program.parse({"order", "--help", "--salt", "[1,2]", "", "pie"}));
  EXPECT_TRUE(cook.order.is_wanted());
  EXPECT_THAT(cook.order.rest(), ElementsAre("--help", "--salt", "[1,2]", "", "pie"));
}

TEST(Arguments, SaysWhatWasDeclared) {
  const Cook cook;
  std::vector<std::string> names;
  for (const Verb& verb : cook.program.verbs()) names.push_back(verb.name());
  EXPECT_THAT(names, ElementsAre("bake", "order"));
  EXPECT_EQ(cook.bake.meaning(), "In the oven");
  const ArgumentInfo dish = cook.bake.arguments().at(1);  // after --help
  EXPECT_THAT(dish.names, IsEmpty());
  EXPECT_TRUE(dish.takes_value);
  const ArgumentInfo salt = cook.bake.arguments().back();
  EXPECT_THAT(salt.names, ElementsAre("--salt", "-s"));
  EXPECT_EQ(salt.meaning, "a pinch");
  EXPECT_FALSE(salt.takes_value);
  EXPECT_TRUE(cook.bake.has("--oven"));
  EXPECT_FALSE(cook.bake.has("--salty"));
}

}  // namespace
}  // namespace aplomb::arguments
