#include "live/cost.h"

#include <gtest/gtest.h>

namespace aplomb::live {
namespace {

TEST(Price, IsReadAsPeopleWriteIt) {
  for (const char* text : {"2.5 EUR", "2.5EUR", "EUR 2.5", " 2.5 EUR "}) {
    const auto price = price_from(text);
    ASSERT_TRUE(price) << text;
    EXPECT_EQ(price->per_hour, 2.5);
    EXPECT_EQ(price->currency, "EUR");
  }
  EXPECT_EQ(price_from("$2.49")->currency, "$");
  EXPECT_EQ(price_from("2.49")->currency, "");
  EXPECT_EQ(price_from("3 \xE2\x82\xAC")->currency, "\xE2\x82\xAC");
  for (const char* text : {"", "free", "-1", "2.5 EUR an hour", "$ 2 EUR", "1e99999", "2\x1b[2J"})
    EXPECT_FALSE(price_from(text)) << text;
}

TEST(Cost, IsOfTheTimeThatTheRunTook) {
  const Price price{7.2, "EUR"};
  EXPECT_EQ(cost_json(price, 1000.0, 1000.0 + 1800)["so_far"], 3.6);
  EXPECT_EQ(cost_json(price, 1000.0, 1000.0)["so_far"], 0.0);
  EXPECT_TRUE(cost_json(price, std::nullopt, 1000.0)["so_far"].is_null());
  EXPECT_TRUE(cost_json(price, 2000.0, 1000.0)["so_far"].is_null()) << "a copied file";
  EXPECT_EQ(cost_json(price, std::nullopt, 0)["per_hour"], 7.2);
}

}  // namespace
}  // namespace aplomb::live
