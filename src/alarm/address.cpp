#include "alarm/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace aplomb::alarm {
namespace {

struct Net {
  std::uint32_t base;
  int bits;
  Reach reach;
};
// IANA's registry of special-purpose addresses (RFC 6890); the first that fits counts.
constexpr std::array<Net, 14> k_nets{{{0x00000000U, 8, Reach::never},
                                      {0x0A000000U, 8, Reach::private_net},
                                      {0x64400000U, 10, Reach::private_net},
                                      {0x7F000000U, 8, Reach::loopback},
                                      {0xA9FE0000U, 16, Reach::never},
                                      {0xAC100000U, 12, Reach::private_net},
                                      {0xC0000000U, 24, Reach::never},
                                      {0xC0000200U, 24, Reach::never},
                                      {0xC0A80000U, 16, Reach::private_net},
                                      {0xC6120000U, 15, Reach::never},
                                      {0xC6336400U, 24, Reach::never},
                                      {0xCB007100U, 24, Reach::never},
                                      {0xE0000000U, 4, Reach::never},
                                      {0xF0000000U, 4, Reach::never}}};

Reach reach_of_v4(std::uint32_t address) {
  for (const Net& each : k_nets) {
    const std::uint32_t mask = ~std::uint32_t{0} << (32 - each.bits);
    if ((address & mask) == each.base) return each.reach;
  }
  return Reach::open;
}

Reach reach_of_v6(const in6_addr& address) {
  const std::uint8_t* bytes = address.s6_addr;
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&address) != 0;
  const bool nat64 = bytes[0] == 0 && bytes[1] == 0x64 && bytes[2] == 0xff && bytes[3] == 0x9b;
  if (mapped || nat64) {
    std::uint32_t inner = 0;
    std::memcpy(&inner, bytes + 12, sizeof inner);
    return reach_of_v4(ntohl(inner));
  }
  if (IN6_IS_ADDR_LOOPBACK(&address) != 0) return Reach::loopback;
  if ((bytes[0] & 0xfeU) == 0xfcU) return Reach::private_net;
  return (bytes[0] & 0xe0U) == 0x20U ? Reach::open : Reach::never;  // 2000::/3 is what is given out
}

bool is_address(const std::string& text) {
  in_addr v4{};
  in6_addr v6{};
  return ::inet_pton(AF_INET, text.c_str(), &v4) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &v6) == 1;
}

bool is_name(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
  return plain && !text.empty() && !text.starts_with('-');
}

/// The host at the head of `place`; where it ends, nothing where there is none.
std::optional<std::size_t> take_host(const std::string& place, Url& url) {
  if (place.starts_with('[')) {
    const std::size_t end = place.find(']');
    if (end == std::string::npos) return std::nullopt;
    url.host = place.substr(1, end - 1);
    if (!is_address(url.host)) return std::nullopt;
    return end + 1;
  }
  url.host = place.substr(0, place.rfind(':'));
  if (!is_name(url.host)) return std::nullopt;
  return url.host.size();
}

/// `:8080`, or nothing: then the scheme's own.
bool take_port(std::string_view text, Url& url) {
  url.port = url.secure ? 443 : 80;
  if (text.empty()) return true;
  if (!text.starts_with(':')) return false;
  text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), url.port);
  return error == std::errc() && end == text.data() + text.size() && url.port >= 1 &&
         url.port <= 65535;
}

}  // namespace

Reach reach_of(const std::string& address) {
  in_addr v4{};
  if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) return reach_of_v4(ntohl(v4.s_addr));
  in6_addr v6{};
  if (::inet_pton(AF_INET6, address.c_str(), &v6) == 1) return reach_of_v6(v6);
  return Reach::never;
}

core::Result<Url> parse_url(const std::string& text) {
  const auto bad = [&](const char* why) {
    return core::fail(core::ErrorCode::bad_usage, fmt::format("[alert] {}: {}", text, why));
  };
  Url url;
  url.text = text;
  url.secure = text.starts_with("https://");
  if (!url.secure && !text.starts_with("http://")) return bad("an address begins with https://");
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>';
  });
  if (!plain) return bad("it holds characters that have to be percent-encoded");
  std::string place = text.substr(url.secure ? 8 : 7);
  place = place.substr(0, place.find_first_of("/?#"));
  if (place.find('@') != std::string::npos) return bad("name and password do not belong in it");
  const std::optional<std::size_t> end = take_host(place, url);
  if (!end) return bad("it names no host");
  if (!take_port(std::string_view(place).substr(*end), url)) return bad("its port is none");
  return url;
}

core::Result<std::string> choose_address(const Url& url, const std::vector<std::string>& resolved,
                                         bool may_be_private) {
  const bool named = may_be_private || is_address(url.host) || url.host == "localhost";
  std::string why = "it leads nowhere";
  for (const std::string& each : resolved) {
    const Reach reach = reach_of(each);
    const bool near = reach == Reach::loopback || reach == Reach::private_net;
    if (reach == Reach::never) {
      why = fmt::format("{} is no address to send to", each);
    } else if (near && !named) {
      why = fmt::format(
          "it leads to {}, in this machine's own network: name that address, or say "
          "--alert-private",
          each);
    } else if (!near && !url.secure) {
      why = "plain http leads to this machine and its own network only: use https";
    } else {
      return each;
    }
  }
  return core::fail(core::ErrorCode::not_readable, fmt::format("[alert] {}: {}", url.host, why));
}

}  // namespace aplomb::alarm
