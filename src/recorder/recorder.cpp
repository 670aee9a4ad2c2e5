#include <aplomb/recorder.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <system_error>
#include <utility>

#include "recorder/record_file.h"

namespace aplomb {

using namespace recorder;  // NOLINT(google-build-using-namespace): the layout of the file that this
                           // one writes

namespace {

/// What was stored before stays before: the process may be stopped between any two instructions,
/// and its stores are then in the mapping in program order.
void store_last(std::uint64_t& place, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(place).store(value, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

std::string reason_of(int error) { return std::generic_category().message(error); }

std::string refuse(const std::string& path, const std::string& why) {
  return "[recorder] " + path + ": " + why;
}

}  // namespace

struct Recorder::File {
  ~File() {
    if (map != nullptr) munmap(map, bytes);
    if (handle >= 0) close(handle);
  }

  std::string open(const std::string& path, const RecorderOptions& options);
  std::string create(const std::string& path, const RecorderOptions& options);
  std::string go_on(const std::string& path, std::uint64_t size);
  std::string take_blocks(const std::string& path) const;
  std::string map_all(const std::string& path);
  void find_end();

  std::string_view table() const { return {map + k_head_bytes, head.text_bytes}; }
  RecordSlot& slot(std::uint64_t sequence) const {
    char* first = map + k_head_bytes + head.text_bytes;
    return reinterpret_cast<RecordSlot*>(first)[(sequence - 1) % head.slots];
  }
  std::uint32_t put_text(TextKind kind, std::uint16_t ordinal, std::string_view text) noexcept;
  std::uint32_t policy_place(std::string_view policy) noexcept;
  void put(const StepRecord& step, std::span<const RecordedValue> values, std::uint32_t policy,
           std::uint32_t reason) noexcept;

  int handle = -1;
  char* map = nullptr;
  std::uint64_t bytes = 0;
  RecordHead head{};
  std::uint64_t last = 0;  // sequence number of the newest record
  std::size_t text_end = 0;
  std::map<std::string, std::uint16_t, std::less<>> names;
  std::array<std::pair<std::string_view, std::uint32_t>, 16> policies{};  // views into the table
};

std::string Recorder::File::open(const std::string& path, const RecorderOptions& options) {
  handle = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (handle < 0) return refuse(path, "cannot be opened for writing: " + reason_of(errno));
  if (flock(handle, LOCK_EX | LOCK_NB) != 0)
    return refuse(path, "another process records there; give each rank a file of its own");
  struct stat status = {};
  if (fstat(handle, &status) != 0 || !S_ISREG(status.st_mode))
    return refuse(path, "is no regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::string fault = size == 0 ? create(path, options) : go_on(path, size);
  if (fault.empty()) fault = map_all(path);
  if (fault.empty()) find_end();
  return fault;
}

std::string Recorder::File::create(const std::string& path, const RecorderOptions& options) {
  std::copy(k_magic.begin(), k_magic.end(), head.magic);
  head.version = k_version;
  head.slots = options.slots;
  head.text_bytes = options.text_bytes & ~(std::uint32_t{k_text_align} - 1);
  head.rank = options.rank;
  head.checksum = checksum_of(head);
  if (const std::string fault = fault_in(head); !fault.empty())
    return refuse(path, "wrong options: " + fault);
  const std::string bytes_of_head(reinterpret_cast<const char*>(&head), sizeof head);
  if (pwrite(handle, bytes_of_head.data(), sizeof head, 0) != static_cast<ssize_t>(sizeof head))
    return refuse(path, "cannot be written: " + reason_of(errno));
  std::string fault = take_blocks(path);
  if (!fault.empty() && ftruncate(handle, 0) != 0) fault += "; a head of 32 bytes stays";
  return fault;
}

/// Blocks are taken when the file is opened: a full disk is an error here, and no bus error in the
/// middle of a run.
std::string Recorder::File::take_blocks(const std::string& path) const {
  const int error = posix_fallocate(handle, 0, static_cast<off_t>(file_bytes(head)));
  if (error == 0) return {};
  return refuse(path,
                "cannot take " + std::to_string(file_bytes(head)) + " bytes: " + reason_of(error));
}

std::string Recorder::File::go_on(const std::string& path, std::uint64_t size) {
  if (pread(handle, &head, sizeof head, 0) != static_cast<ssize_t>(sizeof head))
    return refuse(path, "exists and is no step record; it was left as it is");
  if (const std::string fault = fault_in(head); !fault.empty())
    return refuse(path, "exists, but " + fault + "; it was left as it is");
  // Its creation was interrupted, or it was cut: what is missing is empty.
  return size < file_bytes(head) ? take_blocks(path) : std::string();
}

std::string Recorder::File::map_all(const std::string& path) {
  bytes = file_bytes(head);
  void* place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, handle, 0);
  if (place == MAP_FAILED) return refuse(path, "cannot be mapped: " + reason_of(errno));
  map = static_cast<char*>(place);
  return {};
}

/// Where a file that is continued ends: its names, and the newest valid record.
void Recorder::File::find_end() {
  while (const auto entry = text_at(table(), text_end)) {
    if (entry->kind == TextKind::name) names.emplace(entry->text, entry->ordinal);
    text_end = entry->next;
  }
  if (text_end + sizeof(TextHead) <= head.text_bytes) {
    std::uint32_t size = 0;
    std::memcpy(&size, table().data() + text_end, sizeof size);
    if (size != 0) text_end = head.text_bytes;  // a damaged entry: nothing can be found behind it
  }
  for (std::uint32_t i = 0; i < head.slots; ++i) {
    const RecordSlot& each = slot(i + 1);
    if (state_of(each, i, head.slots) == SlotState::good) last = std::max(last, each.sequence);
  }
}

/// The place of the new entry, + 1; 0 where there is no room.
std::uint32_t Recorder::File::put_text(TextKind kind, std::uint16_t ordinal,
                                       std::string_view text) noexcept {
  text = text.substr(0, k_most_text_entry);
  const std::size_t padded = (text.size() + k_text_align - 1) / k_text_align * k_text_align;
  if (text.empty() || text_end + sizeof(TextHead) + padded > head.text_bytes) return 0;
  char* const place = map + k_head_bytes + text_end;
  TextHead entry{0, 0, static_cast<std::uint16_t>(kind), ordinal, 0};
  entry.checksum = checksum_of(entry, text);
  std::memcpy(place + sizeof entry, text.data(), text.size());
  std::memcpy(place, &entry, sizeof entry);
  auto& size = *reinterpret_cast<std::uint32_t*>(place);
  std::atomic_ref<std::uint32_t>(size).store(static_cast<std::uint32_t>(text.size()),
                                             std::memory_order_release);
  const auto number = static_cast<std::uint32_t>(text_end / k_text_align + 1);
  text_end += sizeof entry + padded;
  return number;
}

/// Policies are few: each is written once.
std::uint32_t Recorder::File::policy_place(std::string_view policy) noexcept {
  if (policy.empty()) return 0;
  for (auto& [text, place] : policies) {
    if (place != 0 && text == policy) return place;
    if (place != 0) continue;
    const std::size_t begin = text_end + sizeof(TextHead);
    place = put_text(TextKind::text, 0, policy);
    if (place != 0) text = table().substr(begin, std::min(policy.size(), k_most_text_entry));
    return place;
  }
  return put_text(TextKind::text, 0, policy);
}

/// The body is put together in whole words: fields of two bytes would be read back by the checksum
/// before they have left the store buffer.
void Recorder::File::put(const StepRecord& step, std::span<const RecordedValue> values,
                         std::uint32_t policy, std::uint32_t reason) noexcept {
  constexpr std::size_t k_words = (sizeof(RecordSlot) - offsetof(RecordSlot, step)) / 8;
  constexpr std::size_t k_values = 2;
  constexpr std::size_t k_names = k_values + StepRecord::k_most_values;
  std::array<std::uint64_t, k_words> body{};
  body[0] = static_cast<std::uint64_t>(step.step);
  body[1] = std::bit_cast<std::uint64_t>(step.time_s);
  std::uint32_t count = 0;
  for (const RecordedValue& each : values) {
    if (each.name == k_no_name) continue;
    body[k_values + count] = std::bit_cast<std::uint64_t>(each.value);
    body[k_names + count / 4] |= std::uint64_t{each.name} << (16 * (count % 4));
    ++count;
  }
  body[k_names + 2] = std::uint64_t{reason} << 32U | policy;

  const std::uint64_t sequence = last + 1;
  const std::uint32_t counts = count | std::uint32_t{step.action} << 16U;
  const std::uint32_t checksum =
      checksum_of({reinterpret_cast<const char*>(body.data()), sizeof body}, counts, sequence);
  const std::uint64_t second = std::uint64_t{counts} << 32U | checksum;

  RecordSlot& to = slot(sequence);
  char* const place = reinterpret_cast<char*>(&to);
  store_last(to.sequence, 0);
  std::memcpy(place + 8, &second, sizeof second);
  std::memcpy(place + offsetof(RecordSlot, step), body.data(), sizeof body);
  store_last(to.sequence, sequence);
  last = sequence;
}

std::unique_ptr<Recorder> Recorder::open(const std::string& path, const RecorderOptions& options,
                                         std::string& error) {
  auto file = std::make_unique<File>();
  error = file->open(path, options);
  if (!error.empty()) return nullptr;
  return std::unique_ptr<Recorder>(new Recorder(std::move(file)));
}

Recorder::Recorder(std::unique_ptr<File> file) : file_(std::move(file)) {}
Recorder::~Recorder() = default;

std::uint16_t Recorder::name(std::string_view metric) {
  metric = metric.substr(0, k_most_text_entry);
  if (const auto known = file_->names.find(metric); known != file_->names.end())
    return known->second;
  const auto ordinal = static_cast<std::uint16_t>(file_->names.size());
  if (ordinal == k_no_name || file_->put_text(TextKind::name, ordinal, metric) == 0)
    return k_no_name;
  file_->names.emplace(metric, ordinal);
  return ordinal;
}

void Recorder::record(const StepRecord& step) noexcept {
  const std::uint32_t policy = file_->policy_place(step.policy);
  const std::uint32_t reason = file_->put_text(TextKind::text, 0, step.reason);
  auto values = step.values;
  file_->put(step, values.first(std::min(values.size(), StepRecord::k_most_values)), policy,
             reason);
  // What does not fit follows in records of the same step that say nothing of the verdict.
  StepRecord rest = step;
  rest.action = 0;
  while (values.size() > StepRecord::k_most_values) {
    values = values.subspan(StepRecord::k_most_values);
    file_->put(rest, values.first(std::min(values.size(), StepRecord::k_most_values)), 0, 0);
  }
}

bool Recorder::sync() noexcept { return msync(file_->map, file_->bytes, MS_SYNC) == 0; }
std::uint64_t Recorder::count() const noexcept { return file_->last; }

}  // namespace aplomb
