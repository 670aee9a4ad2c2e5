#pragma once
/// Facts that follow from the events of all of a run's artifacts together: the arithmetic of an
/// out-of-memory message
/// (`oom.*`), collective time-outs compared across ranks (`hang.*`), where the time of a step goes
/// (`slow.*`), and which failure was the first (`incident.*`). Each is declared in
/// knowledge/facts.yaml. Facts that are held stay.

#include "diagnosis/diagnosis.h"

namespace aplomb::diagnosis {

/// oom.requested_bytes, .total_bytes, .free_bytes, .allocated_bytes, .reserved_bytes as the message
/// gives them (or as they follow), and what they mean:
///   oom.request_share      requested / total
///   oom.fragmentation      (reserved - allocated) / total: memory that PyTorch holds and cannot
///   hand out oom.fragmented         that slack would have held the request oom.one_giant_tensor
///   one tensor wants a large part of the card, or more than a free half of it
///   oom.impossible_request it wants more than the card has
///   oom.base_load_full     a small request on a full card: the standing load is too large, not
///   this tensor oom.foreign_share      share of the card that other processes hold
///   oom.in_backward, .in_optimizer_step, .in_eval, .at_save, .in_load, .in_generate, .in_logits,
///   .in_attention oom.after_training_end, oom.step, oom.at_start (before any step was logged),
///   oom.late (after some were)
void add_memory_facts(const record::Run& run, FactTable& facts);

/// hang.timeout_s, .op, .numel, .timed_out_ranks, .collectives_differ (one sequence number,
/// different operation), .sizes_differ (likewise, different sizes), .seq_differs (the ranks wait at
/// different numbers), .missing_ranks (how many ranks spoke elsewhere but did not time out),
/// .one_element, .default_timeout, .late_seq (many collectives had gone well before),
/// .other_failure (a rank failed of something else first).
void add_hang_facts(const record::Run& run, FactTable& facts);

/// hang.absent_ranks, .absent_rank, .collectives_differ, .sizes_differ from flight-recorder dumps:
/// who did not enqueue what the others of its group wait for.
void add_flight_facts(const record::Run& run, FactTable& facts);

/// slow.*: shares of a step from wall-clock breakdowns, profiler tables and Kineto traces.
void add_slow_facts(const record::Run& run, FactTable& facts);

/// incident.root: kind of the first root failure; incident.root_rank: its rank; incident.count: how
/// many kinds.
void add_incident_root(const record::Run& run, FactTable& facts);

/// The facts of knowledge/incidents.yaml, each a condition over the facts that are held; in its
/// order.
void add_incident_rules(FactTable& facts);

/// All of the above, in their order.
void add_incident_facts(const record::Run& run, FactTable& facts);

}  // namespace aplomb::diagnosis
