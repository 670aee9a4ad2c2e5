#pragma once
/// Listener: whose words count. Where a run holds no metrics, all of them: they are all that there
/// is (a record that stands in an account is no metric but quoted; one in a log is). Beside metrics only those of artifacts in which somebody reports (`text.account`): what
/// stands in a log or a program was printed or written for other ends, and what it measures speaks
/// for itself.

#include <vector>

#include "record/run.h"

namespace aplomb::facts {

class Listener {
 public:
  explicit Listener(const record::Run& run);

  /// Words of this artifact count.
  bool hears(record::SourceId source) const;
  /// Facts that are no words (`said.*`) always count; words where one of their places does.
  bool hears(const record::Fact& fact) const;
  /// Likewise events that are words (kind `...-said`).
  bool hears(const record::Event& event) const;
  /// Only what people wrote counts, and not what was measured.
  bool beside_metrics() const { return beside_metrics_; }

 private:
  bool is_account(record::SourceId source) const;

  bool beside_metrics_ = false;
  std::vector<record::SourceId> accounts_;
};

}  // namespace aplomb::facts
