#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace aplomb::alarm {

/// What somebody who is not looking should know of a run.
struct Notice {
  enum class What {
    verdict,  ///< it is seen to have become worse
    hang,     ///< nothing comes any more
    end,      ///< it has ended
  };
  What what = What::verdict;
  std::string run;       ///< its name
  std::string standing;  ///< warning, unstable, failed; of an end: as in aplomb.report/1
  std::string cause;     ///< id, empty where none is told
  std::string text;      ///< one or two sentences
  std::string fix;       ///< what to do first; empty where nothing is known
  std::string place;     ///< where the log and the report are
  std::optional<std::int64_t> step;

  /// Notices of one key are one: it is told once.
  std::string key() const;
  /// `out/run-7 failed`
  std::string title() const;
  /// What people are told below the title: what is wrong, what to do first, where to look.
  std::string words() const;
};

std::string_view name(Notice::What what);

}  // namespace aplomb::alarm
