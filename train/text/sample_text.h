#pragma once
/// SampleText: a row of data as text, with what of it the loss counts. Rows are read by their
/// fields (dataset.h names them); the formats agree in giving parts, in order.

#include <string>
#include <vector>

#include "core/result.h"
#include "train/text/chat_template.h"
#include "train/text/dataset.h"
#include "train/text/json_access.h"

namespace aplomb::train::text {

struct SampleText {
  std::vector<TextSpan> parts;
  bool special_tokens = true;  ///< the tokenizer adds its own (BOS); false: the template did
  bool ends = true;            ///< append_eos holds for it
};

/// What went wrong with a row: the fault, and words for people.
struct RowFault {
  SampleFault fault = SampleFault::unknown_fields;
  std::string text;
};

/// By which fields a row is read; `automatic` where it has none that are known.
DataFormat format_of(const Json& row);
std::string_view format_name(DataFormat format);

/// `chat` may be null where the format needs none.
tl::expected<SampleText, RowFault> sample_text(const Json& row, DataFormat format,
                                               const ChatTemplate* chat);

/// The field names of a row, for messages.
std::string field_names(const Json& row);

}  // namespace aplomb::train::text
