#include "preflight/data_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "core/text.h"

namespace aplomb::preflight {
namespace {

/// What a fault of single rows is called, and what becomes of a run that trains on them.
struct FaultText {
  RowFault fault;
  std::string_view id, severity, title, because, remedy;
  std::array<std::string_view, 2> leads_to;
};

constexpr std::array<FaultText, 7> k_faults = {
    {{k_row_unreadable,
      "data.unreadable",
      "failed",
      "cannot be read",
      "Loaders stop there, mostly after the model has been loaded.",
      "Mend or drop these rows.",
      {"setup.version-conflict", ""}},
     {k_row_nonfinite,
      "data.nonfinite",
      "unstable",
      "hold NaN or Infinity",
      "One such value makes the loss of its whole batch NaN.",
      "Drop these rows, or find out what wrote them.",
      {"nan.bad-data-nonfinite", ""}},
     {k_row_out_of_range,
      "data.out-of-range",
      "failed",
      "hold an id or a label that the model has no row for",
      "The lookup is out of range: on a GPU a device-side assert, or a silent wrong read.",
      "Tokenise with the model's own tokenizer, or resize its embeddings; masked labels are -100.",
      {"nan.label-out-of-range", "setup.vocab-size-mismatch"}},
     {k_row_lengths_differ,
      "data.lengths-differ",
      "failed",
      "have ids, labels or masks of unequal length",
      "They cannot be put into one batch, or are shifted against each other.",
      "Make labels and masks from the ids, of the same length.",
      {"stall.wrong-label-mask", "setup.dtype-mismatch"}},
     {k_row_empty,
      "data.empty",
      "warning",
      "are empty, or have nothing to learn",
      "A batch of such rows has no token that trains: the mean over none is NaN.",
      "Drop these rows.",
      {"nan.empty-sequence", "nan.all-labels-masked"}},
     {k_row_masked,
      "data.masked",
      "unstable",
      "have no part that trains",
      "All their labels are masked, or no turn is the assistant's: a batch of them has a loss of 0 "
      "or NaN.",
      "Look at the template that masks the prompts, or drop these rows.",
      {"nan.all-labels-masked", "stall.all-labels-masked"}},
     {k_row_chat,
      "data.chat",
      "failed",
      "hold turns without a role or without content",
      "Chat templates raise an error there, or leave the turn out.",
      "Give each turn `role` and `content` (or `from` and `value`).",
      {"stall.chat-template-mismatch", "rl.chat-template-mismatch"}}}};

class Findings {
 public:
  Findings(const DataTally& tally, const std::string& path, const DataLimits& limits,
           std::uint64_t micro)
      : tally_(tally), path_(path), limits_(limits), micro_(micro) {}

  std::vector<ReportFinding> all() {
    if (tally_.rows == 0) {
      add("data.no-rows", "failed", "The file holds no rows", "There is nothing to train on.",
          "Look at what wrote it.", {}, {});
      return std::move(out_);
    }
    for (const FaultText& each : k_faults) fault(each);
    foreign();
    duplicates();
    overlap();
    lengths();
    padding();
    summary();
    return std::move(out_);
  }

 private:
  void add(std::string id, std::string severity, std::string title, std::string because,
           std::string remedy, const FaultCount& where, std::vector<std::string> leads_to) {
    ReportFinding finding;
    finding.id = std::move(id);
    finding.severity = std::move(severity);
    finding.title = std::move(title);
    finding.because = std::move(because);
    for (std::size_t i = 0; i < where.lines.size(); ++i)
      finding.evidence.push_back({path_, where.lines[i], std::nullopt, where.texts[i]});
    if (finding.evidence.empty()) finding.evidence.push_back({path_, 0, std::nullopt, {}});
    if (!remedy.empty()) finding.remedies.push_back({std::move(remedy), {}, {}});
    finding.leads_to = std::move(leads_to);
    out_.push_back(std::move(finding));
  }

  std::string counted(std::uint64_t rows) const {
    const double share = 100.0 * static_cast<double>(rows) / static_cast<double>(tally_.rows);
    return fmt::format("{} of {} rows ({} %)", rows, tally_.rows, core::show_number(share, 2));
  }

  void fault(const FaultText& text) {
    const FaultCount& count =
        tally_
            .faults[static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(text.fault)))];
    if (count.rows == 0) return;
    std::vector<std::string> leads_to;
    for (const std::string_view cause : text.leads_to) {
      if (!cause.empty()) leads_to.emplace_back(cause);
    }
    add(std::string(text.id), std::string(text.severity),
        counted(count.rows) + " " + std::string(text.title), std::string(text.because),
        std::string(text.remedy), count, std::move(leads_to));
  }

  /// Rows of another shape than the rest.
  void foreign() {
    const FaultCount& count = tally_.faults[std::countr_zero(unsigned{k_row_foreign})];
    if (count.rows == 0) return;
    add("data.foreign", "warning", counted(count.rows) + " have none of the usual columns",
        "They lack the columns that the other rows have (or any of the usual names), and become "
        "empty samples or an error.",
        "Bring all rows into one form.", count, {"rl.reward-columns-missing"});
  }

  void duplicates() {
    const FaultCount& count = tally_.duplicates;
    if (count.rows == 0) return;
    constexpr double k_many = 0.01;  // deduplicated corpora stay below (arXiv:2107.06499)
    const bool many = static_cast<double>(count.rows) > k_many * static_cast<double>(tally_.rows);
    add("data.duplicates", many ? "warning" : "note",
        counted(count.rows) + " repeat an earlier one",
        "Repeated samples are learnt by heart, and those that are also held out make the "
        "evaluation look better than it is.",
        "Keep one of each.", count, {"overfit.too-little-data", "overfit.eval-leak"});
  }

  void overlap() {
    if (tally_.overlap.rows == 0) return;
    add("data.overlap", "warning",
        counted(tally_.overlap.rows) + " stand in the training data as well",
        "What is trained on cannot be evaluated on: the evaluation loss no longer shows when the "
        "model stops to generalise.",
        "Take them out of one of the two.", tally_.overlap, {"overfit.eval-leak"});
  }

  void lengths() {
    constexpr double k_many = 0.01;
    const FaultCount& count = tally_.too_long;
    if (static_cast<double>(count.rows) > k_many * static_cast<double>(tally_.rows)) {
      add("data.too-long", "warning",
          counted(count.rows) +
              fmt::format(" are longer than {} tokens", core::show_number(limits_.max_length, 9)),
          tally_.is_tokens() ? "They are cut, and what is cut is mostly the answer."
                             : "At 8 bytes a token, which few tokenizers reach, they are too long "
                               "still. They are cut, and what is cut is mostly the answer.",
          "Raise the longest length, split these rows, or drop them.", count,
          {"rl.completions-truncated", "oom.sequence-too-long"});
    }
    if (tally_.giants.rows > 0) {
      add("data.giant", "warning", counted(tally_.giants.rows) + " hold more than 4 MiB of text",
          "No context holds them; tokenising one takes minutes and a worker's memory.",
          "Split them, or drop them.", tally_.giants, {"oom.host-ram", "setup.host-ram"});
    }
    const double share = tally_.length == 0 ? 1
                                            : static_cast<double>(tally_.trained) /
                                                  static_cast<double>(tally_.length);
    constexpr double k_little = 0.02;
    if (share < k_little && tally_.trained > 0) {
      add("data.little-trains", "warning",
          fmt::format("{} % of the data trains", core::show_number(100 * share, 2)),
          "The rest is prompt or masked: most of the time of a step is spent on what nothing is "
          "learnt from.",
          "Look at the mask; or pack samples, or shorten prompts.", {}, {"stall.wrong-label-mask"});
    }
  }

  double waste() const {
    if (tally_.padded == 0) return 0;
    return 1 - static_cast<double>(tally_.length) / static_cast<double>(tally_.padded);
  }

  void padding() {
    constexpr double k_much = 0.5;
    if (micro_ < 2 || waste() < k_much || tally_.rows < 10 * micro_) return;
    add("data.padding", "note",
        fmt::format("{} % of each batch would be padding", core::show_number(100 * waste(), 2)),
        fmt::format("Batches of {} in the order of the file, padded to their longest.", micro_),
        "Batch samples of like length (group_by_length), or pack them.", {},
        {"slow.padding-waste"});
  }

  /// `16-31: 4 %, 32-63: 40 %`
  std::string histogram() const {
    std::string text;
    for (std::size_t octave = 0; octave < 48; ++octave) {
      const double share = 100.0 * static_cast<double>(tally_.lengths.octave(octave)) /
                           static_cast<double>(tally_.rows);
      if (share < 1) continue;
      text += fmt::format("{}{}-{}: {} %", text.empty() ? "" : ", ", std::uint64_t{1} << octave,
                          (std::uint64_t{2} << octave) - 1, core::show_number(share, 2));
    }
    return text;
  }

  void summary() {
    const std::string unit = tally_.is_tokens() ? "tokens" : "bytes of text";
    const double trained = tally_.length == 0 ? 0
                                              : 100.0 * static_cast<double>(tally_.trained) /
                                                    static_cast<double>(tally_.length);
    const auto below = [&](double share) {
      return std::min(tally_.lengths.quantile(share), tally_.longest);
    };
    // The histogram comes last: a terminal cuts a note after some lines.
    std::string told =
        fmt::format("{} % trains. Lengths: half up to {}, 95 % up to {}, all up to {}.",
                    core::show_number(trained, 3), below(0.5), below(0.95), tally_.longest);
    if (micro_ > 1 && tally_.padded > 0)
      told += fmt::format(" {} % padding in batches of {}; packed, {} times fewer.",
                          core::show_number(100 * waste(), 2), micro_,
                          core::show_number(1 / (1 - waste()), 2));
    told += " By length: " + histogram() + ".";
    if (!tally_.all_compared)
      told += fmt::format(" Repeated rows were looked for among the first {}.", SeenRows::k_most);
    add("data.said", "note", fmt::format("{} rows, {} {}", tally_.rows, tally_.length, unit), told,
        {}, {}, {});
  }

  const DataTally& tally_;
  const std::string& path_;
  const DataLimits& limits_;
  std::uint64_t micro_;
  std::vector<ReportFinding> out_;
};

}  // namespace

std::vector<ReportFinding> data_findings(const DataTally& tally, const std::string& path,
                                         const DataLimits& limits, std::uint64_t micro) {
  return Findings(tally, path, limits, micro).all();
}

}  // namespace aplomb::preflight
