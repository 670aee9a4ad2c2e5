#include "knowledge/hardware.h"

#include <algorithm>

#include "core/text.h"
#include "knowledge/document.h"
#include "knowledge/written_value.h"

namespace aplomb::knowledge {
namespace {

Gpu load(const Node& entry) {
  Gpu card;
  card.name = text_of(entry, "name");
  for (const std::string& word : texts_of(entry, "match")) card.match.push_back(core::lower(word));
  card.compute_capability = number_of(entry, "compute_capability");
  card.memory_bytes = number_of(entry, "memory_gib") * 1024 * 1024 * 1024;
  card.bf16 = truth_of(entry, "bf16");
  card.fp8 = truth_of(entry, "fp8");
  card.bandwidth_bytes_per_s = number_of(entry, "bandwidth_gb_per_s") * 1e9;
  card.link_bytes_per_s = number_of(entry, "link_gb_per_s") * 1e9;
  card.source = text_of(entry, "source");
  card.unverified = texts_of(entry, "unverified");
  for (const auto& [format, tera] : entry["peak_tflops"].members()) {
    if (const auto number = tera.number()) card.peak_flops.emplace_back(format, *number * 1e12);
  }
  return card;
}

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
using core::is_digit;

/// Where `word` stands as a word of its own at or after `from`; npos where it does not. What
/// follows may be a letter suffix only where a `g` of a memory size is meant (`80g`).
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0) {
  for (std::size_t at = text.find(word, from); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const bool multiplied = at >= 2 && text[at - 1] == 'x' && is_digit(text[at - 2]);  // `8xh100`
    const std::string_view before = text.substr(0, at);
    const bool prefixed =
        before.ends_with("rtx") || before.ends_with("gtx") || before.ends_with("ascend");
    const bool starts =
        at == 0 || !is_word(text[at - 1]) || multiplied || prefixed || !is_word(word.front());
    const std::size_t end = at + word.size();
    const bool size = is_digit(word.back()) && end < text.size() && text[end] == 'g';
    if (starts && (end == text.size() || !is_word(text[end]) || size)) return at;
  }
  return std::string_view::npos;
}

/// `8x`, `8 x`, `4 *`, `2 `, `2× ` in front of the name (and of `nvidia`, `tesla`, `geforce rtx`).
double count_before(std::string_view text, std::size_t at) {
  std::string_view head = core::trim(text.substr(0, at));
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view maker :
         {"nvidia", "tesla", "geforce", "rtx", "gtx", "amd", "instinct", "quadro", "gpu"}) {
      if (head.ends_with(maker)) {
        head = core::trim(head.substr(0, head.size() - maker.size()));
        cut = true;
      }
    }
  }
  const bool marked = head.ends_with("x") || head.ends_with("*") || head.ends_with("\xC3\x97");
  if (marked) head = core::trim(head.substr(0, head.size() - (head.ends_with("\xC3\x97") ? 2 : 1)));
  std::size_t start = head.size();
  while (start > 0 && is_digit(head[start - 1])) --start;
  const auto count = core::parse_number(head.substr(start));
  const bool plausible =
      count && *count >= 1 && *count <= 4096 && (start == 0 || !is_word(head[start - 1]));
  // Without a sign between them the number must begin the text or follow a blank: `2 V100`, not
  // `RTX 4090`.
  return plausible && (marked || start == 0 || head[start - 1] == ' ') ? *count : 0;
}

/// `80gb`, `-80g`, ` 16 gib` within the next few characters behind the name.
double memory_behind(std::string_view text, std::size_t end) {
  const std::string_view tail = text.substr(end, 24);
  for (std::size_t at = 0; at < tail.size(); ++at) {
    if (tail[at] == ',' || tail[at] == ';') break;
    if (!is_digit(tail[at]) || (at > 0 && is_word(tail[at - 1]))) continue;
    std::size_t stop = at;
    while (stop < tail.size() && (is_digit(tail[stop]) || tail[stop] == '.')) ++stop;
    std::size_t unit = stop;
    while (unit < tail.size() && tail[unit] == ' ') ++unit;
    std::size_t unit_end = unit;
    while (unit_end < tail.size() && tail[unit_end] >= 'a' && tail[unit_end] <= 'z') ++unit_end;
    if (unit < unit_end && tail[unit] == 'g') {
      const auto bytes = written_bytes(tail.substr(at, unit_end - at));
      if (bytes && *bytes >= 1024.0 * 1024 * 1024) return *bytes;
    }
    at = stop;
  }
  return 0;
}

/// `32GB V100`, `8 40G A100`: a size right before the name.
double memory_before(std::string_view text, std::size_t at) {
  const std::string_view head = core::trim(text.substr(0, at));
  const std::size_t start = head.find_last_of(" ,;(") + 1;
  const std::string_view word = head.substr(start == std::string_view::npos + 1 ? 0 : start);
  if (word.size() < 2 || !is_digit(word.front()) || word.find('g') == std::string_view::npos)
    return 0;
  const auto bytes = written_bytes(word);
  return bytes && *bytes >= 1024.0 * 1024 * 1024 ? *bytes : 0;
}

/// `mig 1g.10gb`: what the slice has; 0 where the text names none.
double slice_memory(std::string_view folded) {
  const std::size_t mig = folded.find("mig ");
  if (mig == std::string_view::npos) return 0;
  const std::size_t dot = folded.find("g.", mig);
  if (dot == std::string_view::npos || dot > mig + 8) return 0;
  const std::size_t end = folded.find_first_not_of("0123456789", dot + 2);
  return written_bytes(std::string(folded.substr(dot + 2, end - dot - 2)) + "gb").value_or(0);
}

bool is_lesser_form(std::string_view folded) {
  return find_word(folded, "laptop") != std::string_view::npos ||
         find_word(folded, "mobile") != std::string_view::npos ||
         folded.find("max-q") != std::string_view::npos || slice_memory(folded) > 0;
}

/// Makers sell a card with up to twice its first memory; a greater size behind its name is that of
/// the processor beside it (`GH200 480GB`).
constexpr double k_most_memory_grown = 2.1;

/// What the text says of the card's memory; else what the card has.
double memory_of(const GpuSeen& seen, std::string_view folded) {
  if (const double slice = slice_memory(folded); slice > 0) return slice;
  double stated = memory_behind(folded, seen.position + seen.card->match.front().size());
  if (stated == 0) stated = memory_before(folded, seen.position);
  if (stated > k_most_memory_grown * seen.card->memory_bytes) stated = 0;
  if (stated > 0) return stated;
  return seen.is_lesser ? 0 : seen.card->memory_bytes;
}

bool all_of_match(const Gpu& card, std::string_view folded, std::size_t at) {
  return std::all_of(card.match.begin() + 1, card.match.end(), [&](const std::string& word) {
    return find_word(folded, word, is_digit(word.front()) ? at : 0) != std::string_view::npos;
  });
}

/// `2080ti`, `2080super` -> `2080 ti`, `2080 super`.
std::string with_suffixes_apart(std::string folded) {
  for (const std::string_view suffix : {"ti", "super"}) {
    for (std::size_t at = folded.find(suffix, 1); at != std::string::npos;
         at = folded.find(suffix, at + 2)) {
      const std::size_t end = at + suffix.size();
      const bool ends = end == folded.size() || !is_word(folded[end]);
      if (is_digit(folded[at - 1]) && ends) folded.insert(at, 1, ' ');
    }
  }
  return folded;
}

/// Bare numbers such as `4090` name a card only beside a word that says that cards are meant.
bool speaks_of_cards(std::string_view folded) {
  constexpr std::string_view k_words[] = {"rtx",  "gtx",    "geforce", "nvidia", "gpu",
                                          "cuda", "radeon", "ascend",  "npu"};
  const bool said = std::any_of(std::begin(k_words), std::end(k_words), [&](std::string_view word) {
    return folded.find(word) != std::string_view::npos;
  });
  return said || find_word(folded, "ti") != std::string_view::npos ||
         find_word(folded, "card") != std::string_view::npos;
}

}  // namespace

bool Gpu::is_verified(std::string_view figure) const {
  return std::find(unverified.begin(), unverified.end(), figure) == unverified.end();
}

const std::vector<Gpu>& gpus() {
  static const std::vector<Gpu> the_cards = [] {
    std::vector<Gpu> all;
    for (const Node& entry : file("hardware.yaml").items()) all.push_back(load(entry));
    return all;
  }();
  return the_cards;
}

std::optional<GpuSeen> find_gpu(std::string_view text) {
  const std::string folded = with_suffixes_apart(core::lower(text.substr(0, 512)));
  std::optional<GpuSeen> best;
  std::size_t most_words = 0;
  const bool cards = speaks_of_cards(folded);
  for (const Gpu& card : gpus()) {
    if (card.match.empty() || (!cards && is_digit(card.match.front().front()))) continue;
    const std::size_t at = find_word(folded, card.match.front());
    if (at == std::string_view::npos) continue;
    // The first card named wins; of two patterns for one place the one that asks for more.
    const bool nearer =
        !best || at < best->position || (at == best->position && card.match.size() > most_words);
    if (!nearer || !all_of_match(card, folded, at)) continue;
    best = GpuSeen{&card, at, count_before(folded, at), 0, false};
    most_words = card.match.size();
  }
  if (best) {
    // A card that is listed as the lesser form has its own figures.
    best->is_lesser = is_lesser_form(folded) && !core::icontains(best->card->name, "laptop");
    best->memory_bytes = memory_of(*best, folded);
  }
  return best;
}

std::optional<GpuSeen> find_named_gpu(std::string_view name) {
  const auto seen = find_gpu(name);
  return seen ? seen : find_gpu("gpu " + std::string(name));
}

}  // namespace aplomb::knowledge
