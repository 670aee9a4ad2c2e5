#pragma once
/// Lines that report the machine: nvidia-smi tables, torch's collect_env, pip and conda lists,
/// `8xH100 80GB`.

#include <cstdint>
#include <string_view>

#include "config_text/setting_sink.h"

namespace aplomb::config_text {

class EnvironmentLines {
 public:
  /// Whether the line told something. `declared`: a text that people wrote, where a card's bare
  /// name counts.
  bool line(std::string_view line, bool declared, std::uint64_t number, std::uint64_t offset,
            SettingSink& sink);

 private:
  bool card(std::string_view line, bool declared, std::uint64_t number, std::uint64_t offset,
            SettingSink& sink);
  bool smi(std::string_view line, std::uint64_t number, std::uint64_t offset, SettingSink& sink);
  static bool printed(std::string_view line, std::uint64_t number, std::uint64_t offset,
                      SettingSink& sink);
  static bool package(std::string_view line, bool declared, std::uint64_t number,
                      std::uint64_t offset, SettingSink& sink);
  int highest_index_ = -1;  ///< of the cards listed one by one
};

}  // namespace aplomb::config_text
