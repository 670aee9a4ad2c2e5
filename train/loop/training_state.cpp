#include "train/loop/training_state.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace aplomb::train::loop {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* k_schema = "aplomb.training_state/1";

std::string hex(const std::string& bytes) {
  constexpr const char* k_digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += k_digits[byte >> 4U];
    text += k_digits[byte & 15U];
  }
  return text;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Nothing where the text is no hexadecimal.
std::optional<std::string> unhex(const std::string& text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(16 * high + low);
  }
  return bytes;
}

}  // namespace

std::string training_state_json(const TrainingState& state) {
  Json json;
  json["schema"] = k_schema;
  json["step"] = state.step;
  json["total_steps"] = state.total_steps;
  json["epoch"] = state.data.epoch;
  json["batch_of_epoch"] = state.data.index;
  json["data_fingerprint"] = state.data_fingerprint;
  json["world"] = state.world;
  json["loss_scale"] = state.loss_scale;
  json["skipped_steps"] = state.skipped_steps;
  json["best_step"] = state.best_step;
  json["best_eval_loss"] = state.best_eval_loss;
  json["evals_since_best"] = state.evals_since_best;
  json["window_loss"] = state.window_loss;
  json["window_steps"] = state.window_steps;
  json["attention"] = state.attention;
  json["attention_steps"] = state.attention_steps;
  json["attention_settled"] = state.attention_settled;
  json["guard"] = hex(state.guard);
  json["rng"] = Json::object();
  for (const auto& [device, bytes] : state.rng) json["rng"][device] = hex(bytes);
  return json.dump(2) + "\n";
}

core::Result<TrainingState> read_training_state(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return core::fail(core::ErrorCode::not_readable, "[checkpoint] " + path + ": cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  const auto broken = [&](const std::string& why) {
    return core::fail(core::ErrorCode::bad_format,
                      "[checkpoint] " + path + ": " + why + "; take another checkpoint");
  };
  try {
    const Json json = Json::parse(text.str());
    if (json.at("schema") != k_schema) return broken("not of this version");
    TrainingState state;
    state.step = json.at("step");
    state.total_steps = json.at("total_steps");
    state.data = {json.at("epoch"), json.at("batch_of_epoch")};
    state.data_fingerprint = json.at("data_fingerprint");
    state.world = json.at("world");
    state.loss_scale = json.at("loss_scale");
    state.skipped_steps = json.at("skipped_steps");
    state.best_step = json.at("best_step");
    state.best_eval_loss = json.at("best_eval_loss");
    state.evals_since_best = json.at("evals_since_best");
    state.window_loss = json.at("window_loss");
    state.window_steps = json.at("window_steps");
    state.attention = json.at("attention");
    state.attention_steps = json.at("attention_steps");
    state.attention_settled = json.at("attention_settled");
    const auto guard = unhex(json.at("guard"));
    if (!guard) return broken("the guard's state is no hexadecimal");
    state.guard = *guard;
    for (const auto& [device, digits] : json.at("rng").items()) {
      const auto bytes = unhex(digits);
      if (!bytes) return broken("the random state of " + device + " is no hexadecimal");
      state.rng[device] = *bytes;
    }
    if (state.step < 0 || state.data.epoch < 0 || state.data.index < 0)
      return broken("a count below 0");
    return state;
  } catch (const nlohmann::json::exception& fault) {
    return broken(fault.what());
  }
}

}  // namespace aplomb::train::loop
