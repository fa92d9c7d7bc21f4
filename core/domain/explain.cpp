#include "domain/explain.hpp"

namespace agent::domain {

Words explain(LimitingFactor factor) {
  switch (factor) {
    case LimitingFactor::none: return {"Nothing limits this policy.", ""};
    case LimitingFactor::demand: return {"There is a runner for every job that GitHub reports.", ""};
    case LimitingFactor::policy_maximum:
      return {"The policy runs as many runners as its `max` allows.", "Raise the policy's `max`."};
    case LimitingFactor::host_capacity:
      return {"The host's capacity is used up or kept for policies that go first.",
              "Wait for a runner to end, or raise `host.capacity`."};
    case LimitingFactor::target_cap:
      return {"The target has as many runners as `host.target_cap` allows.",
              "Wait for a runner of this target to end, or raise `host.target_cap`."};
    case LimitingFactor::paused:
      return {"The policy is paused and starts nothing.", "Set the policy's `state` to `active` and reload."};
    case LimitingFactor::draining:
      return {"The policy or the agent is draining and starts nothing.",
              "Set the policy's `state` to `active` and reload, or start the agent again."};
    case LimitingFactor::provider_not_ready:
      return {"The policy's provider has not said that it is ready.",
              "Look at the provider's instance in `status`."};
    case LimitingFactor::gateway_unreachable:
      return {"GitHub could not be asked about this target.",
              "Look at the target's error in `status`; it is asked again by itself."};
    case LimitingFactor::credential_rejected:
      return {"GitHub rejects the credential for this target.",
              "Mend the credential as the target's error in `status` says."};
    case LimitingFactor::rate_limited:
      return {"GitHub asked to be left alone for a while.",
              "Wait; if it happens often, poll less often or use an App's credential."};
    case LimitingFactor::package_not_ready:
      return {"There is no verified runner package for this machine yet.",
              "Look at the package source's instance in `status`."};
    case LimitingFactor::held_after_refusal:
      return {"A launch was refused for a reason that trying again does not mend, so the policy is held.",
              "Mend what the last failed attempt names; a reload of a changed policy tries again at once."};
    case LimitingFactor::recovering:
      return {"Runners of the last start have not all been seen again.",
              "Wait until GitHub answers; `attempts forget` is for one that is proven gone."};
    case LimitingFactor::disk_full:
      return {"The disk of the state directory is full, or was and what is kept for that is not back yet.",
              "Make room on it, at least 32 MiB."};
    case LimitingFactor::root_refused:
      return {"The policy's root cannot be used.", "Mend the root as its note in `status` says."};
    case LimitingFactor::no_free_slot:
      return {"Every slot of the policy is taken, perhaps by one that is not cleaned yet, or refused.",
              "Look in `status` for refused slots and for attempts of this policy that are not cleaned, or "
              "raise the policy's `max`."};
    case LimitingFactor::journal_unreadable:
      return {"The journal, or a row of it, cannot be written.", "Mend what `journal` in `status` says."};
    case LimitingFactor::policy_minimum:
      return {"The policy's `min` is kept ready and nothing more is asked for.", ""};
  }
  return {"", ""};
}

Words explain(JobRefusal refusal) {
  switch (refusal) {
    case JobRefusal::no_labels:
      return {"The job names no label.", "Give the job's `runs-on` the labels of a policy."};
    case JobRefusal::unresolved_expression:
      return {"A label of the job is an expression that GitHub did not resolve.",
              "Correct the workflow's `runs-on`."};
    case JobRefusal::group_without_labels:
      return {"The job names a runner group without a label.",
              "Give the job's `runs-on` the labels of a policy too."};
    case JobRefusal::invalid_label:
      return {"A label of the job is none that a runner can have.", "Correct the workflow's `runs-on`."};
    case JobRefusal::no_policy:
      return {"No policy offers all labels of the job in its runner group.",
              "Add the labels to a policy, or correct the workflow's `runs-on`."};
    case JobRefusal::ambiguous_policy:
      return {"Two policies match the job equally well.",
              "Give one of them a higher `priority` or fewer labels."};
  }
  return {"", ""};
}

}  // namespace agent::domain
