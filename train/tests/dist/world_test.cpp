#include "train/dist/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace aplomb::train::dist {
namespace {

using Variables = std::map<std::string, std::string>;

core::Result<World> world_of(const Variables& variables) {
  return world_from([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(World, IsOneRankWhereNoLauncherSpeaks) {
  const auto world = world_of({{"MASTER_ADDR", "somewhere"}});
  ASSERT_TRUE(world);
  EXPECT_EQ(world->size, 1);
  EXPECT_EQ(world->rank, 0);
}

TEST(World, ReadsTorchrun) {
  const auto world = world_of({{"RANK", "5"},
                               {"WORLD_SIZE", "8"},
                               {"LOCAL_RANK", "1"},
                               {"LOCAL_WORLD_SIZE", "4"},
                               {"MASTER_ADDR", "node0"},
                               {"MASTER_PORT", "29512"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                               {"TORCHELASTIC_RESTART_COUNT", "2"}});
  ASSERT_TRUE(world) << world.error().text;
  EXPECT_EQ(world->rank, 5);
  EXPECT_EQ(world->size, 8);
  EXPECT_EQ(world->local_rank, 1);
  EXPECT_EQ(world->local_size, 4);
  EXPECT_EQ(world->address, "node0");
  EXPECT_EQ(world->port, 29512);
  EXPECT_TRUE(world->store_is_there);
  EXPECT_EQ(world->attempt, "2");
}

TEST(World, ReadsOpenMpiAndMpichWithoutAMeetingPlaceOnOneMachine) {
  const auto open = world_of({{"OMPI_COMM_WORLD_RANK", "1"},
                              {"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  ASSERT_TRUE(open) << open.error().text;
  EXPECT_EQ(open->rank, 1);
  EXPECT_EQ(open->local_rank, 1);
  EXPECT_EQ(open->address, "");
  const auto mpich = world_of(
      {{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "3"}});
  ASSERT_TRUE(mpich) << mpich.error().text;
  EXPECT_EQ(mpich->rank, 2);
  EXPECT_EQ(mpich->size, 3);
}

TEST(World, SaysWhatIsMissing) {
  using ::testing::HasSubstr;
  const struct {
    Variables variables;
    const char* says;
  } cases[] = {
      {{{"RANK", "0"}}, "only one of RANK and WORLD_SIZE"},
      {{{"RANK", "2"}, {"WORLD_SIZE", "2"}}, "no rank of a number"},
      {{{"RANK", "x"}, {"WORLD_SIZE", "2"}}, "no rank of a number"},
      {{{"OMPI_COMM_WORLD_RANK", "0"},
        {"OMPI_COMM_WORLD_SIZE", "4"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
       "MASTER_ADDR and MASTER_PORT are not set"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node0"}}, "have to be set both"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "70000"}},
       "from 1 to 65535"},
  };
  for (const auto& each : cases) {
    const auto world = world_of(each.variables);
    ASSERT_FALSE(world) << each.says;
    EXPECT_THAT(world.error().text, HasSubstr(each.says));
  }
}

}  // namespace
}  // namespace aplomb::train::dist
