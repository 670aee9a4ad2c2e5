#include "train/text/sample_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "train/text/tokenizer_parts.h"

namespace aplomb::train::text {

namespace {

tl::unexpected<RowFault> fault(SampleFault what, std::string text) {
  return tl::unexpected<RowFault>(RowFault{.fault = what, .text = std::move(text)});
}

}  // namespace

tl::expected<SampleTokens::Cut, RowFault> SampleTokens::append(const SampleText& sample,
                                                               std::vector<std::int32_t>& out) {
  const std::size_t begin = out.size();
  text_.clear();
  for (const TextSpan& part : sample.parts) text_ += part.text;
  encoder_.encode(text_, sample.special_tokens, out);
  const std::size_t head =
      sample.special_tokens ? codec_->tokenizer.parts().surroundings.before.size() : 0;
  const bool ends = sample.ends && options_->append_eos && codec_->eos.has_value();
  if (ends && (out.size() == begin || out.back() != *codec_->eos)) out.push_back(*codec_->eos);
  mark(sample, head, begin, out);
  auto done = checked(begin, out);
  if (!done) out.resize(begin);
  return done;
}

void SampleTokens::mark(const SampleText& sample, std::size_t head, std::size_t begin,
                        std::vector<std::int32_t>& out) {
  if (out.size() == begin) return;
  std::size_t done = begin;
  const auto mask_until = [&](std::size_t end, bool masks) {
    for (; done < end; ++done) {
      if (masks) out[done] = ~out[done];
    }
  };
  std::size_t bytes = 0;
  for (std::size_t i = 0; i + 1 < sample.parts.size() && !options_->train_on_prompt; ++i) {
    bytes += sample.parts[i].text.size();
    const bool counts = sample.parts[i].counts;
    if (counts == sample.parts[i + 1].counts) continue;
    before_.clear();
    encoder_.encode(std::string_view(text_).substr(0, bytes), false, before_);
    // Agreed on so far: all before `done` (masked tokens stand as ~id).
    std::size_t agreed = done - begin > head ? done - begin - head : 0;
    while (agreed < before_.size() && begin + head + agreed < out.size() &&
           before_[agreed] == out[begin + head + agreed])
      ++agreed;
    mask_until(std::max(done, begin + head + agreed), !counts);
  }
  const bool last =
      options_->train_on_prompt || (!sample.parts.empty() && sample.parts.back().counts);
  mask_until(out.size(), !last);
  if (out[begin] >= 0) out[begin] = ~out[begin];  // nothing before it predicts it
}

tl::expected<SampleTokens::Cut, RowFault> SampleTokens::checked(
    std::size_t begin, std::vector<std::int32_t>& out) const {
  const std::size_t size = out.size() - begin;
  const auto most = static_cast<std::size_t>(options_->max_length);
  if (size < 2) return fault(SampleFault::empty, fmt::format("it has {} tokens", size));
  if (options_->embedding_rows > 0) {
    for (std::size_t i = begin; i < out.size(); ++i) {
      const std::int32_t id = out[i] < 0 ? ~out[i] : out[i];
      if (id >= options_->embedding_rows)
        return fault(
            SampleFault::id_out_of_range,
            fmt::format("token {} has id {} (\"{}\"), but the model's embedding ends at {}",
                        i - begin, id, codec_->tokenizer.id_to_token(id).value_or("unknown"),
                        options_->embedding_rows - 1));
    }
  }
  Cut cut;
  if (size > most) {
    if (options_->too_long == TooLong::drop)
      return fault(SampleFault::too_long, fmt::format("{} tokens, more than {}", size, most));
    out.resize(begin + most);
    cut.truncated = true;
  }
  const bool counts = std::any_of(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
                                  [](std::int32_t token) { return token >= 0; });
  if (counts) return cut;
  return fault(SampleFault::all_masked,
               cut.truncated
                   ? fmt::format("its prompt alone fills the {} tokens that it was cut to "
                                 "(it has {}); raise the maximum length or shorten it",
                                 most, size)
                   : "no token of it counts in the loss");
}

}  // namespace aplomb::train::text
