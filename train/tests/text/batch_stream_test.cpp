#include "train/text/batch_stream.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "train/tests/text/small_model.h"
#include "train/text/batch_units.h"

namespace aplomb::train::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class BatchStreamTest : public SmallModelTest {
 protected:
  /// `count` texts of 1 to 23 letters (3 to 25 tokens).
  const Dataset& data(int count) {
    std::string content;
    for (int i = 0; i < count; ++i)
      content += fmt::format("{{\"text\": \"{}\"}}\n",
                             std::string(static_cast<std::size_t>(i * 7 % 23 + 1), 'a'));
    auto opened = Dataset::open({write("d.jsonl", content)}, codec(), {});
    EXPECT_TRUE(opened) << opened.error().text;
    data_.emplace(std::move(*opened));
    return *data_;
  }
  BatchStream stream(const Dataset& data, const BatchOptions& options) {
    std::vector<std::uint64_t> all(data.size());
    for (std::uint64_t i = 0; i < all.size(); ++i) all[i] = i;
    auto opened = BatchStream::open(data, all, options);
    EXPECT_TRUE(opened) << opened.error().text;
    return std::move(*opened);
  }
  std::optional<Dataset> data_;
};

std::vector<std::uint64_t> epoch_of(BatchStream& stream) {
  std::vector<std::uint64_t> samples;
  for (std::int64_t i = 0; i < stream.batches_per_epoch(); ++i) {
    const TokenBatch batch = stream.next();
    samples.insert(samples.end(), batch.samples.begin(), batch.samples.end());
  }
  return samples;
}

TEST_F(BatchStreamTest, ABatchIsPaddedAtTheEndAndCountsWhatTheSamplesCount) {
  BatchStream batches = stream(data(2), {.rows = 2, .shuffle = false});  // 3 and 10 tokens
  const TokenBatch batch = batches.next();
  EXPECT_EQ(batch.rows, 2);
  EXPECT_EQ(batch.columns, 10);
  const auto row = [&](const std::vector<std::int64_t>& from) {
    return std::vector<std::int64_t>(from.begin(), from.begin() + 5);
  };
  const std::int64_t a = 3 + 'a';
  EXPECT_THAT(row(batch.ids), ElementsAre(1, a, 2, 262, 262));
  EXPECT_THAT(row(batch.labels), ElementsAre(k_ignored, a, 2, k_ignored, k_ignored));
  EXPECT_THAT(row(batch.positions), ElementsAre(0, 1, 2, 0, 0));
  EXPECT_THAT(row(batch.segments), ElementsAre(0, 0, 0, -1, -1));
  EXPECT_EQ(batch.counted(), 2 + 9);
}

TEST_F(BatchStreamTest, EveryEpochHasEverySampleOnceInAnotherOrder) {
  for (const bool buckets : {false, true}) {
    BatchStream batches = stream(data(103), {.rows = 4, .length_buckets = buckets});
    auto first = epoch_of(batches);
    auto second = epoch_of(batches);
    EXPECT_NE(first, second);
    for (auto* epoch : {&first, &second}) {
      std::sort(epoch->begin(), epoch->end());
      EXPECT_THAT(*epoch, SizeIs(103));
      EXPECT_TRUE(std::adjacent_find(epoch->begin(), epoch->end()) == epoch->end());
    }
    EXPECT_EQ(batches.position(), (DataPosition{.epoch = 2, .index = 0}));
  }
}

TEST_F(BatchStreamTest, ASavedPositionGoesOnWithTheVeryNextBatch) {
  for (const bool packing : {false, true}) {
    const BatchOptions options{.rows = 3, .columns = 40, .packing = packing, .seed = 9};
    BatchStream run = stream(data(50), options);
    for (int i = 0; i < 23; ++i) run.next();
    const DataPosition saved = run.position();
    BatchStream resumed = stream(data(50), options);
    ASSERT_TRUE(resumed.seek(saved));
    EXPECT_EQ(resumed.fingerprint(), run.fingerprint());
    for (int i = 0; i < 30; ++i) {
      const TokenBatch a = run.next();
      const TokenBatch b = resumed.next();
      ASSERT_EQ(a.ids, b.ids);
      ASSERT_EQ(a.samples, b.samples);
    }
  }
}

TEST_F(BatchStreamTest, RanksTogetherReadWhatOneProcessReads) {
  for (const std::int64_t world : {2, 3, 4}) {
    for (const int count : {24, 25, 31}) {
      BatchStream whole = stream(data(count), {.rows = 2 * world, .seed = 5});
      std::vector<BatchStream> ranks;
      for (std::int64_t rank = 0; rank < world; ++rank)
        ranks.push_back(stream(*data_, {.rows = 2, .seed = 5, .rank = rank, .world = world}));
      for (std::int64_t i = 0; i < whole.batches_per_epoch(); ++i) {
        const TokenBatch all = whole.next();
        std::vector<std::uint64_t> samples;
        std::int64_t counted = 0;
        for (BatchStream& rank : ranks) {
          ASSERT_EQ(rank.batches_per_epoch(), whole.batches_per_epoch());
          const TokenBatch part = rank.next();
          samples.insert(samples.end(), part.samples.begin(), part.samples.end());
          counted += part.counted();
        }
        EXPECT_EQ(samples, all.samples);
        EXPECT_EQ(counted, all.counted());
      }
    }
  }
}

TEST_F(BatchStreamTest, ARankWithoutRowsGetsOneOfPadding) {
  BatchStream last = stream(data(9), {.rows = 2, .rank = 3, .world = 4});
  last.next();
  const TokenBatch batch = last.next();  // one sample is left for four ranks
  EXPECT_EQ(batch.rows, 1);
  EXPECT_GE(batch.columns, 2);
  EXPECT_EQ(batch.counted(), 0);
  EXPECT_TRUE(batch.samples.empty());
  EXPECT_TRUE(
      std::all_of(batch.segments.begin(), batch.segments.end(), [](auto s) { return s == -1; }));
  BatchStream dropping = stream(*data_, {.rows = 2, .drop_last = true, .rank = 3, .world = 4});
  EXPECT_EQ(dropping.batches_per_epoch(), 1);
}

TEST_F(BatchStreamTest, PacksHoldWholeDocumentsWithPositionsOfTheirOwn) {
  const Dataset& samples = data(60);
  BatchStream batches = stream(samples, {.rows = 2, .columns = 40, .packing = true});
  std::set<std::uint64_t> seen;
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < batches.batches_per_epoch(); ++i) {
    const TokenBatch batch = batches.next();
    counted += batch.counted();
    seen.insert(batch.samples.begin(), batch.samples.end());
    EXPECT_LE(batch.columns, 40);
    for (std::size_t at = 0; at < batch.ids.size(); ++at) {
      const bool row_begins = static_cast<std::int64_t>(at) % batch.columns == 0;
      const bool begins = row_begins || batch.segments[at] != batch.segments[at - 1];
      if (batch.segments[at] < 0) continue;
      EXPECT_EQ(batch.positions[at], begins ? 0 : batch.positions[at - 1] + 1);
      if (begins) {
        EXPECT_EQ(batch.ids[at], 1);  // <s>: a document is whole
        EXPECT_EQ(batch.labels[at], k_ignored);
      }
    }
  }
  EXPECT_THAT(seen, SizeIs(60));
  EXPECT_EQ(counted, static_cast<std::int64_t>(samples.counted_tokens()));
  EXPECT_LT(batches.padding_share(), 0.1);
  EXPECT_LT(batches.padding_share(), stream(samples, {.rows = 2}).padding_share());
}

TEST_F(BatchStreamTest, BucketsPadLess) {
  const Dataset& samples = data(200);
  const double plain = stream(samples, {.rows = 4}).padding_share();
  const double buckets = stream(samples, {.rows = 4, .length_buckets = true}).padding_share();
  EXPECT_LT(buckets, plain / 3);
}

TEST_F(BatchStreamTest, WidthsFollowTheirOptions) {
  const Dataset& samples = data(20);
  EXPECT_EQ(stream(samples, {.rows = 3, .columns = 30, .pad_to_columns = true}).next().columns, 30);
  EXPECT_EQ(stream(samples, {.rows = 3, .pad_multiple = 16}).next().columns % 16, 0);
}

TEST_F(BatchStreamTest, RefusesWhatCannotBe) {
  const Dataset& samples = data(20);
  const auto error = [&](const std::vector<std::uint64_t>& chosen, const BatchOptions& options) {
    const auto opened = BatchStream::open(samples, chosen, options);
    return opened ? std::string("opened") : opened.error().text;
  };
  EXPECT_THAT(error({}, {}), HasSubstr("no samples"));
  EXPECT_THAT(error({0}, {.rows = 0}), HasSubstr("0 rows"));
  EXPECT_THAT(error({0}, {.rank = 2, .world = 2}), HasSubstr("rank 2 of 2"));
  EXPECT_THAT(error({1}, {.columns = 5}), HasSubstr("more than the 5 columns"));
  EXPECT_THAT(error({1}, {.rows = 2, .drop_last = true}), HasSubstr("drop_last"));
  EXPECT_FALSE(stream(samples, {.rows = 4}).seek({.epoch = 0, .index = 5}));
  EXPECT_TRUE(stream(samples, {.rows = 4}).seek({.epoch = 7, .index = 4}));
}

TEST(PackBestFit, FillsBinsAndNeverOverfillsThem) {
  const std::vector<std::int64_t> lengths{5, 5, 4, 3, 3, 2, 6, 1, 10};
  const auto bins = pack_best_fit(lengths, 10);
  std::map<std::uint32_t, int> seen;
  for (const auto& bin : bins) {
    std::int64_t sum = 0;
    for (const std::uint32_t item : bin) {
      sum += lengths[item];
      ++seen[item];
    }
    EXPECT_LE(sum, 10);
  }
  EXPECT_THAT(seen, SizeIs(lengths.size()));
  EXPECT_EQ(bins.size(), 4);  // 39 tokens in bins of 10
}

}  // namespace
}  // namespace aplomb::train::text
