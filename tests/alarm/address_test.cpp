#include "alarm/address.h"

#include <gtest/gtest.h>

namespace aplomb::alarm {
namespace {

TEST(AlarmAddress, KnowsWhatAnAddressReaches) {
  for (const char* each : {"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"})
    EXPECT_EQ(reach_of(each), Reach::loopback) << each;
  for (const char* each : {"10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
                           "fd00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"})
    EXPECT_EQ(reach_of(each), Reach::private_net) << each;
  for (const char* each :
       {"169.254.169.254", "0.0.0.0", "224.0.0.1", "255.255.255.255", "192.0.2.1", "fe80::1",
        "::", "ff02::1", "::ffff:169.254.169.254", "2130706433", "127.1", "", "example.org"})
    EXPECT_EQ(reach_of(each), Reach::never) << each;
  for (const char* each : {"1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111"})
    EXPECT_EQ(reach_of(each), Reach::open) << each;
}

TEST(AlarmAddress, ReadsAUrl) {
  const auto url = parse_url("https://hooks.example.org:8443/a/b?c=d");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "hooks.example.org");
  EXPECT_EQ(url->port, 8443);
  EXPECT_TRUE(url->secure);
  EXPECT_EQ(parse_url("http://[::1]:80/x")->host, "::1");
  EXPECT_EQ(parse_url("http://localhost")->port, 80);
  for (const char* each : {"", "ftp://a/", "file:///etc/passwd", "https://", "https://a:b@c/",
                           "https://a@127.0.0.1/", "https://a\\@b/", "https://a b/", "https://a:0/",
                           "https://a:99999/", "https://a:x/", "https://[x]/", "https://[::1/",
                           "https://\xc3\xa4/", "https://-a/", "https://a\"b/", "https://a\n/"})
    EXPECT_FALSE(parse_url(each)) << each;
}

TEST(AlarmAddress, ANameLeadsToTheOwnNetworkOnlyWhereThatWasAskedFor) {
  const Url secure = *parse_url("https://hooks.example.org/x");
  EXPECT_EQ(choose_address(secure, {"1.1.1.1"}, false), "1.1.1.1");
  for (const char* each : {"127.0.0.1", "10.0.0.1", "192.168.1.1", "::1", "fd00::1"}) {
    EXPECT_FALSE(choose_address(secure, {each}, false)) << each;
    EXPECT_TRUE(choose_address(secure, {each}, true)) << each;
  }
  for (const char* each : {"169.254.169.254", "fe80::1", "0.0.0.0"})
    EXPECT_FALSE(choose_address(secure, {each}, true)) << each;
  EXPECT_EQ(choose_address(secure, {"10.0.0.1", "1.1.1.1"}, false), "1.1.1.1");
  EXPECT_FALSE(choose_address(secure, {}, true));
  EXPECT_TRUE(choose_address(*parse_url("http://127.0.0.1:9/"), {"127.0.0.1"}, false))
      << "named itself";
  EXPECT_TRUE(choose_address(*parse_url("http://localhost:9/"), {"127.0.0.1"}, false));
  EXPECT_FALSE(choose_address(*parse_url("http://example.org/"), {"1.1.1.1"}, true))
      << "plain http";
}

}  // namespace
}  // namespace aplomb::alarm
