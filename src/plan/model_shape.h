#pragma once
/// ModelShape: the sizes of a decoder and how its layers are built, from the settings that
/// config.json gives and the families of knowledge/plan.yaml. No weights are needed.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "plan/known.h"

namespace aplomb::plan {

enum class NormPlace { none, head, all };  ///< of queries and keys: each head, or all together

struct AttentionShape {
  double heads = 0;
  double kv_heads = 0;  ///< fewer than heads: grouped-query attention
  double head_dim = 0;
  bool rotary = true;
  bool fused_qkv = false;
  bool qkv_bias = false;
  bool out_bias = false;
  NormPlace qk_norm = NormPlace::none;
  double dropout = 0;  ///< of the scores
};

struct MlpShape {
  double width = 0;
  bool gated = true;
  bool fused_gate_up = false;
  bool bias = false;
  std::string activation = "silu";
};

/// The mixture that takes the place of a layer's feed-forward block.
struct ExpertsShape {
  double count = 0;  ///< a layer; 0: dense
  double per_token = 0;
  double width = 0;
  double shared_width = 0;  ///< of the expert that every token visits; 0: none
};

struct ModelShape {
  std::string name;  ///< as the configuration calls it; may be empty
  std::string type;  ///< model_type
  bool known_family = false;
  double error = 0;  ///< of the memory that was measured for this kind against torch

  double layers = 0, hidden = 0, vocab = 0;
  double positions = 0;  ///< rows of a learned table of positions; 0: none
  AttentionShape attention;
  MlpShape mlp;
  ExpertsShape experts;

  bool rms_norm = true;
  bool conv1d = false;  ///< GPT-2's way to write a linear layer
  bool tied = false;
  bool capped = false;  ///< scores and logits go through a tanh (Gemma 2)
  double extra_norms = 0;
  double dropout = 0;                        ///< of what each block adds to the residual stream
  std::map<std::string, std::string> names;  ///< `qkv` -> `c_attn`

  std::string matrix(const std::string& role) const;  ///< its name: `q` -> `q_proj`
};

/// The sizes of a model that is only named, as settings where `known` is silent; whether it was
/// found.
bool take_named_model(Known& known);

/// What is missing is said in the error: the sizes that no family has a default for.
core::Result<ModelShape> model_shape(const Known& known);

/// One matrix (or vector) of the model.
struct Weight {
  std::string role;     ///< what the decoder calls it, once a layer: `q`, `down`, `norm`
  std::string name;     ///< what the model calls it: `q_proj`, `c_proj`, `lm_head`
  double in = 0;        ///< columns; 1 of a vector
  double out = 0;       ///< rows
  double copies = 1;    ///< experts
  bool linear = false;  ///< an adapter may sit on it
  double count() const { return in * out * copies; }
};

std::vector<Weight> layer_weights(const ModelShape& shape);
/// Embeddings, last norm, head (left out where tied).
std::vector<Weight> outer_weights(const ModelShape& shape);
double count_of(const std::vector<Weight>& weights);
double parameters_of(const ModelShape& shape);
/// Those that one token visits: all but the experts it does not go to.
double active_parameters_of(const ModelShape& shape);

}  // namespace aplomb::plan
