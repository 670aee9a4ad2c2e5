#pragma once
/// Values as people write them in configurations, on command lines and in prose: `5 * 8`, `7B`,
/// `80GB`, `30min`, `"2e-5"`. Each function takes the whole text, without surrounding blanks, and
/// gives nothing for what is none.

#include <optional>
#include <string_view>

namespace aplomb::knowledge {

/// Without one pair of quotes (single, double, back-ticks) around it.
std::string_view unquote(std::string_view text);

bool is_yes(std::string_view text);  ///< true, yes, on, 1, enabled
bool is_no(std::string_view text);   ///< false, no, off, 0, disabled

/// `auto`, `null`, `None`, `~`, `???`, an empty text, or a reference such as `${lr}`: the value is
/// left to something else.
bool says_nothing(std::string_view text);

/// A number, or products, quotients and powers of numbers: `5 * 8`, `1/3`, `2**16`; `10%` is 0.1.
std::optional<double> written_number(std::string_view text);

/// A whole number >= 0 or a count with a suffix: `4,194,304`, `22K`, `7B`, `1.3B`.
std::optional<double> written_count(std::string_view text);

/// `80GB` and `80 GiB` (both 2^30: what cards print), `24576MiB`; a bare number is bytes.
std::optional<double> written_bytes(std::string_view text);

/// `1800`, `1800s`, `30min`, `2 hours`, `timedelta(minutes=30)`, `0:30:00`.
std::optional<double> written_seconds(std::string_view text);

/// The version at the head: `2.1.0+cu118 (True)`, `v0.12.6, unknown`; empty where there is none.
std::string_view written_version(std::string_view text);

}  // namespace aplomb::knowledge
