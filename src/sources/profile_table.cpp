#include "sources/profile_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace aplomb {
namespace {

/// Fields that are apart by two blanks or more.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  line = trim(line);
  while (!line.empty() && fields.size() < 32) {
    const std::size_t gap = line.find("  ");
    fields.push_back(line.substr(0, gap));
    if (gap == std::string_view::npos) break;
    line = trim(line.substr(gap));
  }
  return fields;
}

double percent(std::string_view field) {
  const NumberPrefix number = parse_number_prefix(trim(field));
  return number.size > 0 && number.value >= 0 && number.value <= 100 ? number.value / 100 : 0;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool ProfileTable::open(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  const std::vector<std::string_view> names = fields_of(line);
  if (names.size() < 4 || !iequals(names[0], "Name")) return false;
  *this = ProfileTable();
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i] == "CPU total %") host_total_ = i;
    if (names[i] == "Self CPU %") host_self_ = i;
    const bool device = names[i].starts_with("Self ") && names[i].ends_with(" %");
    if (device && names[i] != "Self CPU %") device_self_ = i;
  }
  if (host_self_ == 0 && host_total_ == 0) return false;
  open_ = true;
  any_ = true;
  device_ = device_self_ != 0;
  fields_ = names.size();
  number_ = number;
  offset_ = offset;
  return true;
}

void ProfileTable::line(std::string_view line) {
  const std::string_view body = trim(line);
  if (body.starts_with("---")) return;  // the rules above and below the head, and the table's end
  const std::vector<std::string_view> fields = fields_of(body);
  if (fields.size() < 4 || !has(body, "%")) {
    open_ = rows_ == 0 && body.empty();
    return;
  }
  ++rows_;
  // A torn last row has fewer fields: what it has stands in the same places.
  const auto at = [&](std::size_t column) {
    return column != 0 && column < fields.size() ? percent(fields[column]) : 0.0;
  };
  add(fields[0], at(host_total_), at(host_self_), at(device_self_));
}

void ProfileTable::add(std::string_view name, double host_total, double host_self,
                       double device_self) {
  const double host = std::max(host_total, host_self);
  if (name.starts_with("enumerate(DataLoader)")) shares_.loader += host;
  if (name.starts_with("Optimizer.step#")) shares_.optimizer += host;
  if (name == "cudaStreamSynchronize" || name == "cudaDeviceSynchronize" ||
      name == "cudaEventSynchronize" || name == "hipStreamSynchronize") {
    shares_.sync += host_self;
  }
  if (name.starts_with("cudaLaunchKernel") || name.starts_with("cuLaunchKernel") ||
      name.starts_with("hipLaunchKernel")) {
    shares_.launch += host_self;
  }
  if (has(name, "sgemm") || has(name, "scudnn")) shares_.sgemm += device_self;
  if (has(name, "ncclKernel") || has(name, "ncclDevKernel")) shares_.nccl += device_self;
  if (name.starts_with("Memcpy")) shares_.copy += device_self;
}

void ProfileTable::finish(RunBuilder& build, SourceId source) {
  if (!any_ || rows_ == 0) return;
  const Origin origin{source, number_, offset_};
  build.fact({"profile.any", true, "a profiler's table was read", {origin}});
  const auto say = [&](const char* name, double share, const char* words) {
    share = std::min(share, 1.0);
    build.fact({name, share, fmt::format("{} {:.0f} %", words, 100 * share), {origin}});
  };
  say("profile.loader_share", shares_.loader, "the data loader takes of the host's time");
  say("profile.sync_share", shares_.sync, "waiting for the card takes of the host's time");
  say("profile.launch_share", shares_.launch, "launching kernels takes of the host's time");
  say("profile.optimizer_share", shares_.optimizer, "the optimizer takes of the host's time");
  if (!device_) return;
  say("profile.sgemm_share", shares_.sgemm, "fp32 matrix products take of the card's time");
  say("profile.nccl_share", shares_.nccl, "collectives take of the card's time");
  say("profile.copy_share", shares_.copy, "copies take of the card's time");
}

}  // namespace aplomb
