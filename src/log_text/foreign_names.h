#pragma once
/// Names of values in other languages (knowledge/languages.yaml), so that `schritt=40 verlust=0.31`
/// and `轮次: 3 损失：0.42` are read as what they are. Only a name that a value follows is one: words of
/// a sentence stay.

#include <string>
#include <string_view>

namespace aplomb::log_text {

/// A key of a record (`val_verlust`, `训练损失`) in English (`val_loss`, `train_loss`); the key
/// itself where it is none of another language.
std::string english_name(std::string_view key);

/// The lines of one log.
class ForeignNames {
 public:
  /// `head`: the first bytes of the log. Where no such name stands in them lines are not looked at.
  explicit ForeignNames(std::string_view head);

  /// The line with its names in English, valid until the next call; the line itself where it has none.
  std::string_view english(std::string_view line);

 private:
  bool any_ = false;
  std::string line_;
};

/// What is wrong with knowledge/languages.yaml; the tests hold this empty.
std::string mistakes_of_languages();

}  // namespace aplomb::log_text
