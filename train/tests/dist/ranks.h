#pragma once
/// Ranks as threads of one process, which meet in a store of the test.

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "train/dist/group.h"

namespace aplomb::train::dist {

/// Calls `work` once a rank, each with its group, and joins them.
inline void with_ranks(int count, const std::function<void(Group&)>& work) {
  c10d::TCPStoreOptions how;
  how.port = 0;
  how.isServer = true;
  how.waitWorkers = false;
  const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", how);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < count; ++rank) {
    ranks.emplace_back([&, rank] {
      const World world{.rank = rank,
                        .size = count,
                        .local_rank = rank,
                        .local_size = count,
                        .address = "127.0.0.1",
                        .port = store->getPort(),
                        .store_is_there = true};
      const auto group = Group::join(world, {});
      ASSERT_TRUE(group) << group.error().text;
      work(**group);
    });
  }
  for (std::thread& each : ranks) each.join();
}

/// The end of a rank for which all went well.
inline void leave_well(Group& group) {
  std::string unheard;
  EXPECT_EQ(group.leave(0, "", &unheard), 0);
  EXPECT_EQ(unheard, "");
}

}  // namespace aplomb::train::dist
