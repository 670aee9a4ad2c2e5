#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "reader_support.h"

namespace aplomb::sources {
namespace {

using test::chosen_reader;
using test::read_with;

constexpr std::string_view k_json = R"({"version": "2.9",
  "pg_config": {"3": {"name": "3", "desc": "expert", "ranks": "[4, 5]"},
                "5": {"name": "5", "desc": "data", "ranks": [4, 12]},
                "9": {"name": "9", "desc": "alone", "ranks": "[4]"}},
  "entries": [
    {"process_group": ["3", "expert"], "collective_seq_id": 41, "profiling_name": "nccl:all_reduce",
     "input_sizes": [[2, 8]], "state": "scheduled", "retired": false, "is_p2p": false},
    {"process_group": ["3", "expert"], "collective_seq_id": 40, "profiling_name": "nccl:broadcast",
     "input_sizes": [[6]], "state": "started", "retired": false, "is_p2p": false},
    {"process_group": ["3", "expert"], "collective_seq_id": 39, "profiling_name": "nccl:broadcast",
     "input_sizes": [[6]], "state": "completed", "retired": true, "is_p2p": false},
    {"process_group": ["3", "expert"], "collective_seq_id": 7, "profiling_name": "nccl:recv",
     "input_sizes": [[6]], "state": "scheduled", "retired": false, "is_p2p": true}]})";

// The same first and second entry, pickled by Python (protocol 2).
constexpr char k_pickle[] =
    "\x80\x02\x7d\x71\x00\x28\x58\x07\x00\x00\x00\x76\x65\x72\x73\x69\x6f\x6e\x71\x01"
    "\x58\x03\x00\x00\x00\x32\x2e\x39\x71\x02\x58\x09\x00\x00\x00\x70\x67\x5f\x63\x6f"
    "\x6e\x66\x69\x67\x71\x03\x7d\x71\x04\x28\x58\x01\x00\x00\x00\x33\x71\x05\x7d\x71"
    "\x06\x28\x58\x04\x00\x00\x00\x6e\x61\x6d\x65\x71\x07\x68\x05\x58\x04\x00\x00\x00"
    "\x64\x65\x73\x63\x71\x08\x58\x06\x00\x00\x00\x65\x78\x70\x65\x72\x74\x71\x09\x58"
    "\x05\x00\x00\x00\x72\x61\x6e\x6b\x73\x71\x0a\x58\x06\x00\x00\x00\x5b\x34\x2c\x20"
    "\x35\x5d\x71\x0b\x75\x58\x01\x00\x00\x00\x39\x71\x0c\x7d\x71\x0d\x28\x68\x07\x68"
    "\x0c\x68\x08\x58\x05\x00\x00\x00\x61\x6c\x6f\x6e\x65\x71\x0e\x68\x0a\x58\x03\x00"
    "\x00\x00\x5b\x34\x5d\x71\x0f\x75\x75\x58\x07\x00\x00\x00\x65\x6e\x74\x72\x69\x65"
    "\x73\x71\x10\x5d\x71\x11\x28\x7d\x71\x12\x28\x58\x0d\x00\x00\x00\x70\x72\x6f\x63"
    "\x65\x73\x73\x5f\x67\x72\x6f\x75\x70\x71\x13\x68\x05\x68\x09\x86\x71\x14\x58\x11"
    "\x00\x00\x00\x63\x6f\x6c\x6c\x65\x63\x74\x69\x76\x65\x5f\x73\x65\x71\x5f\x69\x64"
    "\x71\x15\x4b\x29\x58\x0a\x00\x00\x00\x70\x32\x70\x5f\x73\x65\x71\x5f\x69\x64\x71"
    "\x16\x4b\x00\x58\x0e\x00\x00\x00\x70\x72\x6f\x66\x69\x6c\x69\x6e\x67\x5f\x6e\x61"
    "\x6d\x65\x71\x17\x58\x0f\x00\x00\x00\x6e\x63\x63\x6c\x3a\x61\x6c\x6c\x5f\x72\x65"
    "\x64\x75\x63\x65\x71\x18\x58\x0b\x00\x00\x00\x69\x6e\x70\x75\x74\x5f\x73\x69\x7a"
    "\x65\x73\x71\x19\x5d\x71\x1a\x5d\x71\x1b\x28\x4b\x02\x4b\x08\x65\x61\x58\x05\x00"
    "\x00\x00\x73\x74\x61\x74\x65\x71\x1c\x58\x09\x00\x00\x00\x73\x63\x68\x65\x64\x75"
    "\x6c\x65\x64\x71\x1d\x58\x07\x00\x00\x00\x72\x65\x74\x69\x72\x65\x64\x71\x1e\x89"
    "\x58\x06\x00\x00\x00\x69\x73\x5f\x70\x32\x70\x71\x1f\x89\x75\x7d\x71\x20\x28\x68"
    "\x13\x68\x14\x68\x15\x4b\x28\x68\x16\x4b\x00\x68\x17\x58\x0e\x00\x00\x00\x6e\x63"
    "\x63\x6c\x3a\x62\x72\x6f\x61\x64\x63\x61\x73\x74\x71\x21\x68\x19\x5d\x71\x22\x5d"
    "\x71\x23\x4b\x06\x61\x61\x68\x1c\x58\x07\x00\x00\x00\x73\x74\x61\x72\x74\x65\x64"
    "\x71\x24\x68\x1e\x89\x68\x1f\x89\x75\x65\x75\x2e";
const std::string_view k_pickled(k_pickle, sizeof(k_pickle) - 1);

const record::Event* group_of(const aplomb::record::Run& run, std::string_view name) {
  for (const record::Event& event : run.events) {
    const auto found = event.caught.find("group");
    if (found != event.caught.end() && core::show(found->second) == name) return &event;
  }
  return nullptr;
}

double number(const record::Event& event, const char* name) {
  const auto found = event.caught.find(name);
  const double* value = found == event.caught.end() ? nullptr : core::as_number(found->second);
  return value == nullptr ? -1 : *value;
}

TEST(FlightRecorder, AGroupHoldsItsPendingCollectives) {
  const aplomb::record::Run run = read_with("flight-recorder", k_json, 1U << 20U, "out/_dump_4");
  EXPECT_TRUE(run.defects.empty());
  const record::Event* expert = group_of(run, "3");
  ASSERT_NE(expert, nullptr);
  EXPECT_EQ(expert->rank, 4) << "the rank stands in the file's name";
  EXPECT_EQ(number(*expert, "first"), 40) << "what is complete or between two ranks does not wait";
  EXPECT_EQ(number(*expert, "last"), 41);
  EXPECT_EQ(number(*expert, "numel"), 6);
  EXPECT_EQ(core::show(expert->caught.at("op")), "nccl:broadcast");
  EXPECT_EQ(core::show(expert->caught.at("members")), "4,5");
  const record::Event* data = group_of(run, "5");
  ASSERT_NE(data, nullptr) << "a group without anything pending is told too";
  EXPECT_EQ(data->caught.count("last"), 0U);
  EXPECT_EQ(core::show(data->caught.at("members")), "4,12");
  EXPECT_EQ(group_of(run, "9"), nullptr) << "a group of one waits for nobody";
}

TEST(FlightRecorder, ThePickleSaysTheSame) {
  const aplomb::record::Run run =
      read_with("flight-recorder", k_pickled, 7, "/tmp/nccl_trace_rank_5");
  const record::Event* expert = group_of(run, "3");
  ASSERT_NE(expert, nullptr);
  EXPECT_EQ(expert->rank, 5);
  EXPECT_EQ(number(*expert, "first"), 40);
  EXPECT_EQ(number(*expert, "last"), 41);
  EXPECT_EQ(number(*expert, "numel"), 6);
}

TEST(FlightRecorder, IsChosenForItsOwnOnly) {
  EXPECT_EQ(chosen_reader("_dump_4", k_json), "flight-recorder");
  EXPECT_EQ(chosen_reader("_dump_4", k_pickled), "flight-recorder");
  EXPECT_NE(chosen_reader("log.txt", "pg_config and entries were dumped\n"), "flight-recorder");
  EXPECT_NE(chosen_reader("a.json", "{\"loss\": 1}"), "flight-recorder");
}

TEST(FlightRecorder, ATornDumpIsADefect) {
  EXPECT_FALSE(read_with("flight-recorder", k_json.substr(0, 300)).defects.empty());
  EXPECT_FALSE(read_with("flight-recorder", k_pickled.substr(0, 150)).defects.empty());
}

}  // namespace
}  // namespace aplomb::sources
