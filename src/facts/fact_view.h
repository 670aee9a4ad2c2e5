#pragma once
/// FactView: all that a deriver may see and do: the facts that hold, the readings of the run, and
/// the door through which new facts go in. What is asked for and what is given can be noted
/// (FactUse), so that the tests hold each deriver to its declaration (facts/fact_graph.h).
///
/// Readings have names too, by which a deriver declares that it asks for them:
///     series:loss    the series of a role            series:*   every series
///     event:cuda-oom the events of a kind            event:*    every event
///     setting:x.y    every statement of a setting    source:*   the frameworks of the artifacts
///     reader:said.*  facts as the readers gave them, before anything was derived
///     run:*          all of them, for what has to recognise the run as a whole

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/value.h"
#include "facts/fact_table.h"
#include "facts/listener.h"
#include "record/run.h"

namespace aplomb::facts {

/// What one deriver asked for, and what it gave.
struct FactUse {
  std::set<std::string, std::less<>> reads;
  std::set<std::string, std::less<>> writes;
};

class FactView {
 public:
  using Names = std::vector<std::string_view>;

  /// Both must outlive the view; so must `use`, where there is one.
  FactView(const record::Run& run, FactTable& table, FactUse* use = nullptr)
      : run_(run), table_(table), use_(use) {}

  // --- facts
  const record::Fact* find(std::string_view name) const;
  bool known(std::string_view name) const { return find(name) != nullptr; }
  bool truth(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;    ///< finite ones only
  std::optional<double> positive(std::string_view name) const;  ///< those above 0
  std::string text(std::string_view name) const;  ///< as it stands; empty where there is none
  std::string word(std::string_view name) const;  ///< the same in lower case
  /// Facts whose name fits `pattern` (`oom.*`), in the table's order.
  std::vector<const record::Fact*> matching(std::string_view pattern) const;
  /// The table, for a condition that asks for `names` and for nothing else.
  const FactTable& table(const std::vector<std::string>& names) const;
  /// The whole table: `*`.
  const FactTable& table() const;

  // --- readings of the run
  const record::Series* series(record::Role role) const;  ///< the one that stands for the role
  const std::vector<record::Series>& all_series() const;
  /// Where people would look a sample of `wanted` up; itself no question (record/run.h).
  const record::Series& shown_by(const record::Series& wanted) const {
    return run_.shown_by(wanted);
  }
  std::vector<const record::Event*> events(std::string_view kind) const;
  const std::vector<record::Event>& all_events() const;
  std::vector<const record::Setting*> statements(std::string_view setting) const;
  std::vector<const record::Fact*> given_by_readers(std::string_view pattern) const;
  /// Slugs of the frameworks whose words the artifacts and settings are, each once.
  std::vector<std::string> frameworks() const;
  std::string trainer() const;  ///< knowledge/trainer.h
  /// Whose words count: asks for `series:*` and `reader:text.account`.
  Listener listener() const;
  const record::Run& run() const;  ///< `run:*`

  // --- what follows; a fact that is held already stays
  /// With the places of the facts that it follows from.
  void set(std::string name, core::Value value, std::string because, const Names& from = {});
  void set_at(std::string name, core::Value value, std::string because,
              std::vector<record::Origin> places);

 private:
  void asked(std::string_view name) const {
    if (use_ != nullptr) use_->reads.emplace(name);
  }
  void asked(std::string_view kind, std::string_view name) const;

  const record::Run& run_;
  FactTable& table_;
  FactUse* use_;
};

/// Whether `name` is `pattern`, or begins with what stands before the `*` that ends it.
bool fits(std::string_view pattern, std::string_view name);

}  // namespace aplomb::facts
