#include "knowledge/classifier_weights.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "knowledge/document.h"

namespace aplomb::knowledge {
extern const std::size_t k_classifier_size;
extern const char k_classifier[];
}  // namespace aplomb::knowledge

namespace aplomb::knowledge {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

core::Error wrong(std::string_view what) {
  return {core::ErrorCode::bad_format, fmt::format("[classifier] {}", what)};
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Takes tensors out of a file until one is not as it should be, and keeps what was wrong with it.
class Tensors {
 public:
  Tensors(const Node& header, std::string_view data) : header_(header), data_(data) {}

  /// How many numbers there should be; as many as there are where that is not known before.
  static constexpr std::size_t k_any = static_cast<std::size_t>(-1);

  template <class Number>
  void take(std::string_view name, std::string_view type, std::size_t count,
            std::vector<Number>& out) {
    const Node tensor = header_[name];
    const std::vector<Node> place = list_of(tensor, "data_offsets");
    const auto bound = [&](std::size_t i) {
      const double at = i < place.size() ? place[i].number().value_or(-1) : -1;
      return at >= 0 && at <= static_cast<double>(data_.size()) ? static_cast<std::size_t>(at)
                                                                : k_any;
    };
    const std::size_t begin = bound(0);
    const std::size_t end = bound(1);
    const bool inside = begin != k_any && end != k_any && begin <= end;
    if (!inside || text_of(tensor, "dtype") != type || (end - begin) % sizeof(Number) != 0 ||
        (count != k_any && end - begin != count * sizeof(Number))) {
      if (fault_.empty()) fault_ = fmt::format("the tensor {} is not as it should be", name);
      return;
    }
    out.resize((end - begin) / sizeof(Number));
    if (!out.empty()) std::memcpy(out.data(), data_.data() + begin, end - begin);
  }

  const std::string& fault() const { return fault_; }

 private:
  Node header_;
  std::string_view data_;
  std::string fault_;
};

/// Places in the lists of weights and causes, which are followed without a look later on.
bool are_sound(const ClassifierWeights& made) {
  return made.begin.front() == 0 &&
         made.begin.back() == static_cast<std::int32_t>(made.weights.size()) &&
         std::is_sorted(made.begin.begin(), made.begin.end()) &&
         std::all_of(made.weights.begin(), made.weights.end(),
                     [&](const auto& each) { return each.cause < made.causes.size(); }) &&
         made.axis_count * made.causes.size() == made.axes.size();
}

}  // namespace

core::Result<ClassifierWeights> read_classifier_weights(std::string_view file) {
  std::uint64_t size = 0;
  if (file.size() < sizeof size) return tl::unexpected(wrong("the file is torn"));
  std::memcpy(&size, file.data(), sizeof size);
  if (size > file.size() - sizeof size) return tl::unexpected(wrong("its header is torn"));
  simdjson::dom::parser parser;
  simdjson::dom::element parsed;
  const simdjson::padded_string text(file.substr(sizeof size, size));
  if (parser.parse(text).get(parsed) != simdjson::SUCCESS)
    return tl::unexpected(wrong("its header is no JSON"));
  const Node header(parsed);
  const Node names = header["__metadata__"];
  ClassifierWeights made;
  made.causes = lines_of(text_of(names, "causes"));
  made.features = lines_of(text_of(names, "features"));
  made.words = lines_of(text_of(names, "words"));
  Tensors tensors(header, file.substr(sizeof size + size));
  tensors.take("bias", "F32", made.causes.size(), made.bias);
  tensors.take("feature.begin", "I32", made.features.size() + 1, made.begin);
  std::vector<std::int16_t> causes;
  std::vector<float> nats;
  tensors.take("feature.cause", "I16", Tensors::k_any, causes);
  tensors.take("feature.nats", "F32", causes.size(), nats);
  tensors.take("axis.nats", "F32", Tensors::k_any, made.axes);
  made.axis_count = made.causes.empty() ? 0 : made.axes.size() / made.causes.size();
  tensors.take("word.steps", "I8", made.words.size() * made.axis_count, made.steps);
  if (!tensors.fault().empty()) return tl::unexpected(wrong(tensors.fault()));
  for (std::size_t i = 0; i < nats.size(); ++i)
    made.weights.push_back({static_cast<std::size_t>(causes[i]), static_cast<double>(nats[i])});
  if (!are_sound(made)) return tl::unexpected(wrong("its numbers do not fit together"));
  return made;
}

std::string_view embedded_classifier() { return {k_classifier, k_classifier_size}; }

}  // namespace aplomb::knowledge
