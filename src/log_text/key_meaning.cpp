/// What the keys of logs mean: by the tables of knowledge/frameworks, then by their words.

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/letters.h"
#include "core/text.h"
#include "knowledge/framework.h"
#include "log_text/keys.h"
#include "log_text/number.h"
#include "log_text/words.h"

namespace aplomb::log_text {
namespace {

using Words = std::vector<std::string>;

using core::is_digit;
using core::is_lower;

std::string join(const Words& words, std::string_view by = "_") {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += by;
    out += word;
  }
  return out;
}

/// Words that say how a number was averaged, not what it is.
constexpr std::array<std::string_view, 18> k_qualifiers = {
    "avg",   "average", "mean",  "running", "current", "cur",  "smoothed", "smooth",  "total",
    "final", "step",    "batch", "epoch",   "iter",    "this", "global",   "overall", "tot"};

/// Beside `loss` these make a key a setting or a statistic of another kind.
constexpr std::array<std::string_view, 34> k_not_a_loss = {
    "weight",  "weights",   "coef",      "coeff",      "coefficient", "scale",    "scaler",
    "scaling", "type",      "fn",        "func",       "function",    "lambda",   "alpha",
    "gamma",   "ratio",     "mask",      "name",       "limit",       "interval", "reduction",
    "stop",    "threshold", "tolerance", "tol",        "count",       "num",      "steps",
    "freq",    "margin",    "config",    "multiplier", "factor",      "patience"};

/// Extremes and shifts of a series: they get a series of their own, never the plain one.
constexpr std::array<std::string_view, 12> k_not_the_value = {
    "best",    "min",    "max",  "std",      "delta", "diff",
    "initial", "target", "prev", "previous", "var",   "median"};

constexpr std::array<std::string_view, 52> k_ignored = {"eta",
                                                        "eta_seconds",
                                                        "pid",
                                                        "port",
                                                        "seed",
                                                        "rank",
                                                        "local_rank",
                                                        "gpu",
                                                        "device",
                                                        "node",
                                                        "v_num",
                                                        "version",
                                                        "line",
                                                        "ip",
                                                        "id",
                                                        "remain",
                                                        "remaining",
                                                        "elapsed",
                                                        "wall",
                                                        "world_size",
                                                        "nranks",
                                                        "date",
                                                        "timestamp",
                                                        "code",
                                                        "exitcode",
                                                        "exit_code",
                                                        "size",
                                                        "img_size",
                                                        "batch_size",
                                                        "num_workers",
                                                        "workers",
                                                        "shape",
                                                        "params",
                                                        "total_params",
                                                        "max_steps",
                                                        "total_steps",
                                                        "num_epochs",
                                                        "max_epochs",
                                                        "epochs",
                                                        "ppid",
                                                        "tid",
                                                        "uid",
                                                        "errno",
                                                        "rc",
                                                        "cuda",
                                                        "xpu",
                                                        "npu",
                                                        "cpu",
                                                        "localhost",
                                                        "length_of_dataset",
                                                        "trainable_params",
                                                        "rand_seed"};

constexpr std::array<std::string_view, 7> k_inner_keys = {
    "batch", "minibatch", "mini_batch", "batch_idx", "batch_id", "batch_num", "mbatch"};

constexpr std::array<std::string_view, 5> k_epoch_keys = {"epoch", "ep", "epoch_num", "epoch_idx",
                                                          "epoch_no"};

/// `train.py:907` says where a line was printed.
constexpr std::array<std::string_view, 10> k_file_ends = {".py", ".cc", ".cpp",   ".c",  ".h",
                                                          ".cu", ".go", ".scala", ".rs", ".java"};

bool is_strong(record::Role role) {
  switch (role) {
    case record::Role::other:
    case record::Role::lr:
    case record::Role::epoch:
    case record::Role::loss_scale:
    case record::Role::step_time_s:
    case record::Role::data_time_s:
    case record::Role::memory_bytes:
    case record::Role::host_memory_bytes:
    case record::Role::tokens_per_s:
    case record::Role::samples_per_s:
    case record::Role::skipped_steps:
    case record::Role::nan_count:
    case record::Role::count_:
      return false;
    default:
      return true;
  }
}

/// What the words in front and behind say: held-out data, training data, an average.
struct Stripped {
  Words words;
  bool eval = false;
  bool train = false;
  bool extreme = false;
};

Stripped strip(Words words) {
  Stripped out;
  // `held-out loss`
  if (words.size() > 2 && words[0] == "held" && words[1] == "out") {
    out.eval = true;
    words.erase(words.begin(), words.begin() + 2);
  }
  while (words.size() > 1) {
    const std::string& head = words.front();
    if (is_eval_word(head)) {
      out.eval = true;
    } else if (is_train_word(head)) {
      out.train = true;
    } else {
      break;
    }
    words.erase(words.begin());
  }
  if (words.size() > 1 && is_eval_word(words.back())) {  // `loss_val`, `loss/val`
    out.eval = true;
    words.pop_back();
  } else if (words.size() > 1 && is_train_word(words.back())) {
    out.train = true;
    words.pop_back();
  }
  for (const std::string& word : words) out.extreme |= one_of(word, k_not_the_value);
  out.words = std::move(words);
  return out;
}

Words without_qualifiers(const Words& words) {
  Words kept;
  for (const std::string& word : words) {
    if (!one_of(word, k_qualifiers)) kept.push_back(word);
  }
  return kept.empty() ? words : kept;
}

struct Alias {
  std::string series;
  double scale = 1;
};

std::optional<Alias> alias_of(std::string_view key, std::string_view framework) {
  auto hit = knowledge::find_series_alias(key, framework);
  if (!hit) return std::nullopt;
  return Alias{std::move(hit->series), hit->scale};
}

/// The training series of a key by tables, then by its words; nothing where neither knows it.
std::optional<Alias> alias_of_words(const Words& words, std::string_view framework) {
  if (auto hit = alias_of(join(words), framework)) return hit;
  const Words plain = without_qualifiers(words);
  if (plain.size() < words.size()) {
    if (auto hit = alias_of(join(plain), framework)) return hit;
  }
  return std::nullopt;
}

/// `rpn_cls_loss`, `loss_box_reg`: an addend named by the words beside `loss`. Plain `loss` with
/// nothing but qualifiers is the loss.
std::optional<std::string> loss_series(const Words& words) {
  const bool has_loss = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "loss" || word == "losses" ||
           (word.size() > 4 && word.ends_with("loss") && word != "gloss" && word != "lossless");
  });
  if (!has_loss) return std::nullopt;
  // `Eval loss at step`, `setting loss scale to`: a phrase, not a name.
  static constexpr std::array<std::string_view, 24> k_joining = {
      "at",  "to",     "of",       "is",     "in",      "for",  "after", "was",
      "the", "became", "become",   "finite", "invalid", "or",   "and",   "not",
      "non", "found",  "infinite", "from",   "with",    "over", "by",    "on"};
  if (std::any_of(words.begin(), words.end(),
                  [](const std::string& word) { return one_of(word, k_joining); })) {
    return std::nullopt;
  }
  if (one_of(words.back(), k_not_a_loss) || words.front() == "stop") return std::nullopt;
  Words rest;
  for (const std::string& word : words) {
    if (word == "loss" || word == "losses" || one_of(word, k_qualifiers) || is_train_word(word))
      continue;
    rest.push_back(word.size() > 4 && word.ends_with("loss") ? word.substr(0, word.size() - 4)
                                                             : word);
  }
  if (rest.empty()) return "loss";
  return "loss/" + join(rest);
}

/// The held-out counterpart of a training series.
std::string eval_series(const std::string& series, record::Role& role) {
  if (series == "loss" || series == "eval_loss") {
    role = record::Role::eval_loss;
    return "eval_loss";
  }
  if (series == "accuracy" || series == "eval_accuracy") {
    role = record::Role::eval_accuracy;
    return "eval_accuracy";
  }
  if (series.starts_with("loss/")) {
    role = record::Role::eval_component;
    return "eval_" + series;
  }
  if (series.starts_with("eval_")) return series;
  role = is_strong(role) ? record::Role::eval_metric : record::Role::other;
  return "eval_" + series;
}

Meaning place_meaning(const Words& words, std::string_view raw, std::string_view framework) {
  const std::string joined = join(words);
  if (one_of(joined, k_epoch_keys)) return Meaning::epoch;
  if (one_of(joined, k_inner_keys)) return Meaning::inner;
  if (knowledge::is_step_key(raw, framework) || knowledge::is_step_key(joined, framework))
    return Meaning::step;
  Words plain = words;
  if (plain.size() > 1 && (is_train_word(plain.front()) || plain.front() == "global")) {
    plain.erase(plain.begin());
    const std::string rest = join(plain);
    if (one_of(rest, k_epoch_keys)) return Meaning::epoch;
    if (knowledge::is_step_key(rest, framework)) return Meaning::step;
  }
  return Meaning::unknown;
}

/// Single words that prose and mathematics use as well.
constexpr std::array<std::string_view, 12> k_common_words = {
    "cost",  "norm",     "reward", "rewards", "kl",  "entropy",
    "score", "accuracy", "acc",    "return",  "ppl", "top1"};

int weight_of(const Key& key) {
  if (!is_strong(key.role)) return 0;
  return one_of(core::lower(key.raw), k_common_words) ? 1 : 2;
}

void finish_metric(Key& key, Alias alias, bool eval) {
  key.meaning = Meaning::metric;
  key.scale = alias.scale;
  key.series = std::move(alias.series);
  key.role = knowledge::series_role(key.series);
  if (eval) key.series = eval_series(key.series, key.role);
  key.eval = eval || key.role == record::Role::eval_loss ||
             key.role == record::Role::eval_accuracy || key.role == record::Role::eval_metric ||
             key.role == record::Role::eval_component;
  key.weight = weight_of(key);
}

}  // namespace

bool is_eval_word(std::string_view word) {
  static constexpr std::array<std::string_view, 11> k_words = {
      "val",  "valid",   "validation", "eval",    "evaluation", "evaluating",
      "test", "testing", "dev",        "holdout", "validate"};
  return one_of(word, k_words);
}

bool is_train_word(std::string_view word) {
  static constexpr std::array<std::string_view, 4> k_words = {"train", "training", "trn",
                                                              "trainer"};
  return one_of(word, k_words);
}

std::vector<std::string> key_words(std::string_view key) {
  Words words;
  std::string word;
  const auto flush = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (std::size_t i = 0; i < key.size(); ++i) {
    const char c = key[i];
    const bool plain = is_lower(c) || core::is_upper(c) || is_digit(c) || c == '@' || c == '%' ||
                       static_cast<unsigned char>(c) >= 0x80;
    if (!plain) {
      flush();
      continue;
    }
    if (core::is_upper(c) && i > 0) {
      const bool hump = is_lower(key[i - 1]);  // trainLoss
      const bool last_of_run = core::is_upper(key[i - 1]) && i + 2 < key.size() &&
                               is_lower(key[i + 1]) && is_lower(key[i + 2]);
      if (hump || last_of_run) flush();  // CTCLoss
    }
    word.push_back(core::is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c);
  }
  flush();
  return words;
}

Key understand_key(std::string_view raw, bool eval_scope, std::string_view framework) {
  Key key;
  key.raw = std::string(raw);
  key.series = key.raw;
  Words words = key_words(raw);
  if (words.empty()) {
    key.meaning = Meaning::ignored;
    return key;
  }
  key.meaning = place_meaning(words, raw, framework);
  key.absolute = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "global" || word == "updates" || word == "update";
  });
  if (key.meaning != Meaning::unknown) return key;
  const bool file = std::any_of(k_file_ends.begin(), k_file_ends.end(),
                                [raw](std::string_view end) { return raw.ends_with(end); });
  if (file || one_of(join(words), k_ignored) || (words.size() == 1 && unit_of(raw) && raw != "G")) {
    key.meaning = Meaning::ignored;
    return key;
  }
  key.plural = words.back() == "losses" || words.back() == "rewards" || words.back() == "norms";
  if (auto hit = alias_of(raw, framework)) {
    finish_metric(key, std::move(*hit), eval_scope);
    return key;
  }
  // Composer: `Train loss/train/total`, `Eval metrics/eval/...`.
  if (const std::size_t blank = raw.find(' ');
      blank != std::string_view::npos && (is_train_word(words[0]) || is_eval_word(words[0]))) {
    if (auto hit = alias_of(raw.substr(blank + 1), framework)) {
      finish_metric(key, std::move(*hit), eval_scope || is_eval_word(words[0]));
      return key;
    }
  }
  const Stripped stripped = strip(words);
  const bool eval = eval_scope || stripped.eval;
  if (auto hit = alias_of_words(words, framework)) {
    finish_metric(key, std::move(*hit), eval_scope);
    return key;
  }
  if (!stripped.extreme && stripped.words.size() < words.size()) {
    if (auto hit = alias_of_words(stripped.words, framework)) {
      finish_metric(key, std::move(*hit), eval);
      return key;
    }
  }
  const auto loss = loss_series(stripped.words);
  if (loss && stripped.extreme) {  // `best_loss`: its own series, a metric but no loss
    key.eval = eval;
    return key;
  }
  if (loss) finish_metric(key, {*loss, 1}, eval);
  key.eval = key.eval || eval;
  return key;
}

}  // namespace aplomb::log_text
