// The field lists of the journal: every fact of an attempt and of a policy definition, each once, in the
// order of its columns. A new member of domain::Attempt needs a line here, a column in the schema and a
// migration.
#pragma once

#include "domain/attempt.hpp"

namespace agent::journal {

// Written with the row and never again. The policy is a reference, which the store adds.
template <class Io, class A>
void birth_fields(Io& io, A& a) {
  io("id", a.id);
  io("generation", a.generation);
  io("runtime", a.runtime);
  io("slot", a.slot);
  io("package_inside", a.package_inside);
}

// What changes while an attempt lives. The first four are written once.
template <class Io, class A>
void life_fields(Io& io, A& a) {
  io("package", a.package);
  io("environment", a.environment);
  io("runner", a.runner);
  io.group(a.process, [](auto& to, auto& process) {
    to("process_pid", process.pid);
    to("process_start_token", process.start_token);
    to("process_boot_id", process.boot_id);
  });
  io("jit_requested", a.jit_requested_at);
  io("jit_requests", a.jit_requests);
  io("unanswered", a.unanswered_at);
  io("state", a.state);
  io("changed", a.changed_at);
  io("ahead", a.ahead);
  io("absence_observed", a.absence_observed);
  io("clean_exit", a.clean_exit);
  io("exit_code", a.exit_code);
  io("out_of_memory", a.out_of_memory);
  io.group(a.pending, [](auto& to, auto& pending) {
    to("pending_kind", pending.kind);
    to("pending_seq", pending.seq);
    to("pending_issued", pending.issued_at);
  });
  io("next_seq", a.next_seq);
  io.group(a.termination, [](auto& to, auto& termination) {
    to("termination_kind", termination.kind);
    to("termination_step", termination.step);
  });
  io.group(a.outcome, [](auto& to, auto& outcome) {
    to("outcome_kind", outcome.kind);
    to("outcome_reason", outcome.reason);
    to("outcome_out_of_memory", outcome.out_of_memory);
  });
  io("replacement_wanted", a.replacement_wanted);
  io("environment_removed", a.environment_removed);
  io("deregistration_owed", a.deregistration_owed);
  io("launch_retry_tries", a.launch_retry.tries);
  io("launch_retry_due", a.launch_retry.due);
  io("cleanup_retry_tries", a.cleanup_retry.tries);
  io("cleanup_retry_due", a.cleanup_retry.due);
  io("deregistration_retry_tries", a.deregistration_retry.tries);
  io("deregistration_retry_due", a.deregistration_retry.due);
  io("granted", a.times.granted);
  io("demand_seen", a.times.demand_seen);
  io("package_acquired", a.times.package_acquired);
  io("materialized", a.times.materialized);
  io("prepared", a.times.prepared);
  io("registered", a.times.registered);
  io("held", a.times.held);
  io("started", a.times.started);
  io("residue_until", a.residue_until);
}

// The columns of the write-once facts among life_fields.
inline constexpr const char* kWriteOnce[] = {"package",     "environment",         "runner",
                                             "process_pid", "process_start_token", "process_boot_id"};

// A policy without its labels, which have a table of their own.
template <class Io, class P>
void policy_fields(Io& io, P& p) {
  io("name", p.name);
  io("target", p.target);
  io("gateway", p.gateway);
  io("provider", p.provider);
  io("package_source", p.package_source);
  io("provider_kind", p.provider_kind);
  io("workspace", p.workspace);
  io("root", p.root);
  io("runner_group", p.runner_group_id);
  io("minimum", p.min);
  io("maximum", p.max);
  io("warm", p.warm);
  io("priority", p.priority);
  io("state", p.state);
  io("jit_handoff_ms", p.timeouts.jit_handoff);
  io("startup_ms", p.timeouts.startup);
  io("idle_ms", p.timeouts.idle);
  io("stop_grace_ms", p.timeouts.stop_grace);
  io("job_ms", p.timeouts.job);
  io("image", p.profile.image);
  io("cpu_milli", p.profile.cpu_milli);
  io("memory_bytes", p.profile.memory_bytes);
  io("disk_bytes", p.profile.disk_bytes);
  io("pids", p.profile.pids);
}

}  // namespace agent::journal
