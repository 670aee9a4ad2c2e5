#pragma once
/// Where an alarm may be sent. A name that leads to this machine or its neighbours is refused unless
/// that was asked for: else whoever answers for the name could have requests sent to what stands
/// behind the firewall.

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace aplomb::alarm {

enum class Reach {
  loopback,
  private_net,  ///< RFC 1918, RFC 6598, unique local
  never,        ///< link-local (where clouds keep their keys), unspecified, multicast, reserved
  open,         ///< the rest of the internet
};
/// Of an address as it is written (`10.0.0.7`, `fe80::1`, `::ffff:127.0.0.1`); never where it is none.
Reach reach_of(const std::string& address);

struct Url {
  bool secure = false;
  std::string host;  ///< without the brackets of an IPv6 address
  int port = 0;
  std::string text;  ///< the whole of it
};
/// Errors: bad_usage (no http or https, credentials in it, characters that have to be encoded).
core::Result<Url> parse_url(const std::string& text);

/// The first of the addresses that a name was resolved to that may be sent to. Loopback and private
/// ones only if the URL names them itself (an address, or `localhost`) or `may_be_private`; plain http
/// leads to no other. Errors: not_readable, with the reason.
core::Result<std::string> choose_address(const Url& url, const std::vector<std::string>& resolved,
                                         bool may_be_private);

}  // namespace aplomb::alarm
