#pragma once
/// What a JSON text holds, from a look at it: metrics of training, or something else.

#include <string_view>

#include "input/json_cursor.h"

namespace aplomb::sources {

struct JsonLook {
  bool step = false;
  bool metric = false;   ///< a number that a trainer logs
  bool result = false;   ///< a number that no configuration holds
  bool columns = false;  ///< lists of numbers, or numbers by step, under a metric's name
  bool records = false;  ///< a list of objects
};

/// `1200`: digits and nothing else.
bool is_step_number(std::string_view key);

/// Adds what the members of the object that comes next look like, as far as the text goes.
void look_at(input::JsonCursor& json, JsonLook& look, int depth);

/// How sure it is, 0 to 1, that `head`, which begins with a bracket, begins metrics as JSON.
double sniff_json_metrics(std::string_view head);

}  // namespace aplomb::sources
