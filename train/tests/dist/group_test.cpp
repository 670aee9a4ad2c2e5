#include "train/dist/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "ranks.h"

namespace aplomb::train::dist {
namespace {

using ::testing::HasSubstr;

TEST(Group, AloneDoesNothing) {
  Group& group = Group::alone();
  double values[] = {1, 2};
  group.sum(values);
  EXPECT_EQ(values[1], 2);
  EXPECT_FALSE(group.any(false));
  EXPECT_TRUE(group.all(true));
  group.check();
  EXPECT_EQ(group.leave(1, "", nullptr), 1);
}

/// Lengths around the number of ranks and of a slice, so that parts are empty or torn.
TEST(Group, SumsEveryLengthToTheSameBitsOnAllRanks) {
  const std::vector<std::int64_t> lengths = {0, 1, 2, 3, 5, 1000, 65536, 200003};
  for (const int count : {2, 3, 5}) {
    std::mutex mutex;
    std::vector<std::vector<at::Tensor>> sums(static_cast<std::size_t>(count));
    with_ranks(count, [&](Group& group) {
      for (const std::int64_t length : lengths) {
        at::Tensor values = at::arange(length, at::kFloat).mul_(0.1).add_(group.rank() * 0.3);
        group.wait(group.begin_sum(values));
        const std::lock_guard lock(mutex);
        sums[static_cast<std::size_t>(group.rank())].push_back(values);
      }
      leave_well(group);
    });
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      at::Tensor wanted = at::zeros({lengths[i]}, at::kDouble);
      for (int rank = 0; rank < count; ++rank)
        wanted.add_(at::arange(lengths[i], at::kFloat).mul_(0.1).add_(rank * 0.3));
      ASSERT_EQ(sums[0].size(), lengths.size());
      EXPECT_TRUE(at::allclose(sums[0][i].to(at::kDouble), wanted, 1e-6)) << lengths[i];
      for (const auto& each : sums) EXPECT_TRUE(at::equal(each[i], sums[0][i])) << lengths[i];
    }
  }
}

TEST(Group, SharesFlagsCountsAndTheBytesOfTheFirst) {
  with_ranks(3, [](Group& group) {
    EXPECT_TRUE(group.any(group.rank() == 2));
    EXPECT_FALSE(group.any(false));
    EXPECT_FALSE(group.all(group.rank() != 1));
    double counts[] = {static_cast<double>(1LL << 40), static_cast<double>(group.rank())};
    group.sum(counts);
    EXPECT_EQ(counts[0], 3 * static_cast<double>(1LL << 40));
    EXPECT_EQ(counts[1], 3);
    std::vector<std::uint64_t> words(100'000, static_cast<std::uint64_t>(group.rank()) + 7);
    group.from_first(std::as_writable_bytes(std::span(words)));
    EXPECT_EQ(words.front() + words.back(), 14U);
    leave_well(group);
  });
}

TEST(Group, SumsAreMadeInTheOrderInWhichTheyBegin) {
  with_ranks(2, [](Group& group) {
    std::vector<at::Tensor> tensors;
    std::vector<c10::intrusive_ptr<c10d::Work>> works;
    for (int i = 0; i < 20; ++i) {
      tensors.push_back(at::full({1 + i * 5000}, i, at::kFloat));
      works.push_back(group.begin_sum(tensors.back()));
    }
    for (int i = 19; i >= 0; --i) {
      group.wait(works[static_cast<std::size_t>(i)]);
      EXPECT_EQ(tensors[static_cast<std::size_t>(i)][-1].item<float>(),
                2.0F * static_cast<float>(i));
    }
    leave_well(group);
  });
}

/// What a rank does while the run is lost: waits in a sum, and says how that ended.
std::string waits(Group& group) {
  try {
    for (;;) {
      double value = 1;
      group.sum({&value, 1});
    }
  } catch (const GroupLost& lost) {
    return lost.what();
  }
}

TEST(Group, TheReasonOfOneRankReachesRankZeroAndEndsAll) {
  std::string heard;
  std::atomic<int> ended = 0;
  with_ranks(3, [&](Group& group) {
    std::string unheard;
    if (group.rank() == 2) {
      EXPECT_EQ(group.leave(2, "[data] line 7 is no JSON", &unheard), 2);
      EXPECT_EQ(unheard, "");
    } else {
      const std::string reason = waits(group);
      if (group.is_first()) heard = reason;
      EXPECT_EQ(group.leave(2, reason, &unheard), 2);
      EXPECT_EQ(unheard, "");
    }
    ++ended;
  });
  EXPECT_EQ(heard, "rank 2: [data] line 7 is no JSON");
  EXPECT_EQ(ended, 3);
}

TEST(Group, AVanishedRankIsNoticedByItsConnection) {
  std::string heard;
  with_ranks(3, [&](Group& group) {
    if (group.rank() == 1) return;  // its group is destroyed without a word
    const std::string reason = waits(group);
    std::string unheard;
    if (group.is_first()) heard = reason;
    EXPECT_EQ(group.leave(2, reason, &unheard), 2);
  });
  EXPECT_THAT(heard, HasSubstr("rank 1 ended without a word"));
}

TEST(Group, WithoutRankZeroTheOthersSpeakForThemselves) {
  std::string said;
  with_ranks(2, [&](Group& group) {
    if (group.is_first()) return;
    const std::string reason = waits(group);
    std::string unheard;
    EXPECT_EQ(group.leave(2, reason, &unheard), 2);
    said = unheard;
  });
  EXPECT_THAT(said, HasSubstr("rank 0 ended without a word"));
}

TEST(Group, RankZeroEndsTheRunForAllWithItsStatus) {
  with_ranks(3, [](Group& group) {
    std::string unheard;
    EXPECT_EQ(group.leave(group.is_first() ? 1 : 0, "", &unheard), 1);
    EXPECT_EQ(unheard, "");
  });
}

TEST(Group, ARankThatNeitherWaitsNorEndsIsNoticedByCheck) {
  with_ranks(2, [](Group& group) {
    std::string unheard;
    if (group.rank() == 1) {
      EXPECT_EQ(group.leave(2, "no memory", &unheard), 2);
      return;
    }
    try {
      for (;;) {
        group.check();
        std::this_thread::yield();
      }
    } catch (const GroupLost& lost) {
      EXPECT_STREQ(lost.what(), "rank 1: no memory");
    }
    EXPECT_EQ(group.leave(2, "rank 1: no memory", &unheard), 2);
  });
}

}  // namespace
}  // namespace aplomb::train::dist
