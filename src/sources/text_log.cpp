/// Reader of what a program printed: the log that any training leaves.
///
///     {'loss': 2.3145, 'grad_norm': 8.1, 'learning_rate': 1e-05, 'epoch': 0.02}
///     step 250: train loss 2.4318, val loss 2.4412
///
/// Oddities: progress bars that write over their own line; several ranks whose lines run together;
/// tables, tracebacks and questions of people between the metrics; a torn last line. log_text/
/// does the reading; this file says how sure it is that the bytes are text.

#include <fmt/format.h>

#include "log_text/lines.h"
#include "log_text/scanner.h"
#include "sources/reader.h"

namespace aplomb::sources {
namespace {

// Control characters among the first bytes. Text has next to none, random bytes 10 %.
constexpr double k_most_control_frac = 0.05;

/// A stream that gives back the part that was looked at.
class Replayed : public input::ByteStream {
 public:
  Replayed(input::ByteStream& rest, std::string_view first) : rest_(rest), first_(first) {}
  std::string_view next() override {
    at_first_ = !given_;
    if (given_) return rest_.next();
    given_ = true;
    return first_;
  }
  input::Gap gap() const override { return at_first_ ? input::Gap{} : rest_.gap(); }
  const std::string& broken() const override { return rest_.broken(); }
  std::uint64_t consumed() const override { return rest_.consumed(); }

 private:
  input::ByteStream& rest_;
  std::string_view first_;
  bool given_ = false;
  bool at_first_ = false;
};

bool is_text(std::string_view head) {
  if (head.empty()) return true;
  std::size_t odd = 0;
  std::size_t nul = 0;
  for (const char c : head) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) ++nul;
    if (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t' && byte != 0x1b && byte != '\b')
      ++odd;
  }
  const bool wide = head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF") ||
                    nul * 10 > head.size() * 4;  // UTF-16
  return wide || static_cast<double>(odd) < k_most_control_frac * static_cast<double>(head.size());
}

class TextLogReader : public Reader {
 public:
  const ReaderSpec& spec() const override {
    static const ReaderSpec text_log_spec = {
        "text-log",
        "any text that a trainer printed: metrics, settings, errors",
        "{'loss': 2.31, 'grad_norm': 1.07, 'learning_rate': 1e-05, 'epoch': 0.1}",
        {"colours and cursor movements of terminals", "progress bars that draw over themselves",
         "UTF-16, byte order marks, CRLF", "several ranks or several runs in one file",
         "steps that restart, or only epochs given", "program text at the head of a log",
         "lines cut in the middle, lines of 100 MB"}};
    return text_log_spec;
  }

  bool takes_samples() const override { return true; }
  double sniff(const Sniff& artifact) const override { return is_text(artifact.head) ? 0.1 : 0; }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    const std::string_view first = bytes.next();
    Replayed stream(bytes, first);
    log_text::LineSplitter lines(stream);
    log_text::LogScanner scanner(first.substr(0, Sniff::k_head_bytes), build, source);
    log_text::Line line;
    bool binary = false;
    while (lines.next(line)) {
      if (lines.control_frac() > k_most_control_frac) {
        binary = true;
        break;
      }
      if (const input::Gap gap = lines.take_gap(); gap.bytes > 0) scanner.left_out(gap.records);
      scanner.line(line);
    }
    scanner.finish();
    report(bytes, lines, binary, line, build, source);
  }

 private:
  static void report(const input::ByteStream& bytes, const log_text::LineSplitter& lines,
                     bool binary, const log_text::Line& last, record::RunBuilder& build,
                     record::SourceId source) {
    if (binary) {
      build.defect({source, 0, "binary", core::Severity::warning,
                    fmt::format("[text-log] {:.0f} % of the first bytes are control characters; "
                                "this is no text; name the tool that wrote it",
                                100 * lines.control_frac())});
    }
    if (lines.too_long() > 0) {
      record::Defect defect{
          source, lines.first_too_long_offset(), "too-long-line", core::Severity::note,
          fmt::format("[text-log] {} line(s) longer than {} bytes; only the head of each is read",
                      lines.too_long(), log_text::LineSplitter::k_max_line_bytes)};
      defect.times = lines.too_long();
      build.defect(std::move(defect));
    }
    if (!bytes.broken().empty()) {
      build.defect({source, last.offset, "truncated", core::Severity::warning,
                    fmt::format("[text-log] the bytes end early: {}; what stands before is read",
                                bytes.broken())});
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_text_log_reader() { return std::make_unique<TextLogReader>(); }

}  // namespace aplomb::sources
