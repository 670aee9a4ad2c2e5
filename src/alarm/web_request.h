#pragma once
/// web_post(): one request by curl, to the address that was checked and to no other. No redirection is
/// followed and no proxy asked; what the request holds stands on no command line.

#include <chrono>
#include <string>
#include <vector>

#include "alarm/address.h"
#include "core/result.h"

namespace aplomb::alarm {

struct WebPost {
  std::string who;  ///< `[alert]`: who asks, for the text of an error
  std::string body;
  std::vector<std::string> headers = {};
  bool may_be_private = false;  ///< as of choose_address()
  std::chrono::seconds limit{15};
};

/// The body of the answer, at most 64 KiB. Errors: as of choose_address(); not_writable where the
/// request was refused, or not answered in time.
core::Result<std::string> web_post(const Url& url, const WebPost& request);

}  // namespace aplomb::alarm
