// Breaks the rules of the boundary on purpose, as the name of the policy or of the target asks. Written
// against the C headers, because the C++ layer does not let these mistakes happen.
#include <cstring>
#include <string>
#include <string_view>

#include "rmgr/abi/execution_provider.h"
#include "rmgr/abi/gateway.h"
#include "rmgr/abi/package_source.h"

namespace {

rmgr_str text(std::string_view view) { return {view.data(), view.size()}; }
std::string_view view(rmgr_str in) { return {in.data, in.size}; }

// What one call left behind for a later one.
struct Kept {
  const rmgr_call* call = nullptr;
  const rmgr_error* error = nullptr;
  const rmgr_text_sink* sink = nullptr;
};
Kept kept;
int instance = 0;

rmgr_str schema() { return text(R"({"type": "object"})"); }
rmgr_status create(const rmgr_instance_host*, rmgr_str, rmgr_instance** out, const rmgr_error*) {
  *out = reinterpret_cast<rmgr_instance*>(&instance);
  return RMGR_OK;
}
void destroy(rmgr_instance*) {}

// --- provider

rmgr_status probe(rmgr_instance*, const rmgr_call*, const rmgr_profile* profile, const rmgr_probe_sink* sink,
                  const rmgr_error* error) {
  const std::string_view act = view(profile->policy);
  rmgr_probe item{sizeof(rmgr_probe), RMGR_PROBE_READY, text(""), text(""), 0, 0};
  if (act == "silent") return RMGR_OK;
  if (act == "unknown-status") return 4711;
  if (act == "no-reason") return RMGR_E_DENIED;
  if (act == "odd-reason") {
    error->set(error->ctx, text("first\x01 line\n\xff end"), -5);
    error->set(error->ctx, text("second"), 5);
    return RMGR_E_RETRY;
  }
  if (act == "long-reason") {
    const std::string reason(100'000, 'x');
    error->set(error->ctx, text(reason), INT64_MAX);
    return RMGR_E_RETRY;
  }
  if (act == "readiness") item.readiness = 99;
  if (act == "not-utf8") item.note = text("\xc3(");
  if (act == "no-bytes") item.note = {nullptr, 5};
  if (act == "short-struct") item.struct_size = 4;
  if (act == "no-item") return sink->write(sink->ctx, nullptr);
  const std::string large(70'000, 'x');
  if (act == "large") item.note = text(large);
  if (act == "many") {
    rmgr_status status = RMGR_OK;
    for (int i = 0; i < 10'001; ++i)
      status = sink->write(sink->ctx, &item);
    return status;
  }
  sink->write(sink->ctx, &item);
  return RMGR_OK;  // also when the sink refused
}

// Keeps everything, and uses what an earlier call left.
rmgr_status resolve(rmgr_instance*, const rmgr_call*, const rmgr_profile* profile, const rmgr_text_sink* sink,
                    const rmgr_error*) {
  const std::string_view act = view(profile->policy);
  if (act == "silent") return RMGR_OK;
  if (act == "tag") return sink->write(sink->ctx, text("image:latest"));
  if (act == "large") return sink->write(sink->ctx, text(std::string(5'000, 'x')));
  const std::string pinned = "image@sha256:" + std::string(64, '0');
  if (act == "twice") sink->write(sink->ctx, text(pinned));
  return sink->write(sink->ctx, text(pinned));
}
rmgr_status recover(rmgr_instance*, const rmgr_call*, const rmgr_allocation*, const rmgr_owned_sink*,
                    const rmgr_error*) {
  return RMGR_OK;
}
rmgr_status enumerate_owned(rmgr_instance*, const rmgr_call*, rmgr_str, const rmgr_owned_sink*,
                            const rmgr_error*) {
  return RMGR_OK;
}
int32_t owns(rmgr_instance*, const rmgr_call*, const rmgr_allocation*, rmgr_str) { return 1; }
rmgr_status prepare(rmgr_instance*, const rmgr_call* call, const rmgr_allocation* allocation,
                    const rmgr_text_sink* sink, const rmgr_error* error) {
  std::string seen = "first";
  if (view(allocation->policy) == "late" && kept.sink != nullptr) {
    const bool dropped = kept.sink->write(kept.sink->ctx, text("late")) != RMGR_OK;
    kept.error->set(kept.error->ctx, text("late"), 1);
    const bool over = kept.call->requested(kept.call->ctx) == 1 &&
                      kept.call->remaining_ms(kept.call->ctx) == 0 &&
                      kept.call->on_cancel(
                          kept.call->ctx, [](void*) {}, nullptr) == 0;
    kept.call->off_cancel(kept.call->ctx, 1);
    seen = dropped && over ? "dropped" : "taken";
  }
  kept = {call, error, sink};
  return sink->write(sink->ctx, text(seen));
}

rmgr_status start(rmgr_instance*, const rmgr_call*, const rmgr_allocation* allocation, rmgr_secret,
                  rmgr_start_result* result, const rmgr_error*) {
  if (view(allocation->policy) == "nothing-started") result->process_existed = 0;
  return RMGR_E_RETRY;
}
rmgr_status inspect(rmgr_instance*, const rmgr_call*, const rmgr_allocation* allocation,
                    rmgr_environment_state* state, const rmgr_error*) {
  const std::string_view act = view(allocation->policy);
  if (act == "signal") *state = {sizeof(rmgr_environment_state), RMGR_ENVIRONMENT_EXITED, -1, 1, 1, 0};
  if (act == "code") *state = {sizeof(rmgr_environment_state), RMGR_ENVIRONMENT_EXITED, 3, 0, 0, 0};
  if (act == "clean") *state = {sizeof(rmgr_environment_state), RMGR_ENVIRONMENT_EXITED, 0, 1, 0, 0};
  return RMGR_OK;  // otherwise with nothing filled in
}
rmgr_status stop(rmgr_instance*, const rmgr_call*, const rmgr_allocation*, int64_t, const rmgr_error*) {
  return RMGR_OK;
}
rmgr_status remove_environment(rmgr_instance*, const rmgr_call*, const rmgr_allocation*, const rmgr_error*) {
  return RMGR_OK;
}

constexpr rmgr_execution_provider provider{
    {sizeof(rmgr_execution_provider), RMGR_PROVIDER_ISOLATED, &schema, &create, &destroy},
    &probe,
    &resolve,
    &prepare,
    nullptr,
    &start,
    &inspect,
    &recover,
    &stop,
    &remove_environment,
    &enumerate_owned,
    &owns,
    nullptr};

// --- gateway

rmgr_status demand(rmgr_instance*, const rmgr_call*, rmgr_str target, const rmgr_job_sink* sink,
                   rmgr_demand_result* result, const rmgr_error*) {
  rmgr_job job{};
  job.struct_size = sizeof(rmgr_job);
  job.status = view(target) == "job/status" ? 9 : RMGR_JOB_QUEUED;
  if (view(target) == "job/labels") job.label_count = 5;
  result->quota_left_percent = 400;
  return sink->write(sink->ctx, &job);
}
rmgr_status inventory(rmgr_instance*, const rmgr_call*, rmgr_str, const rmgr_runner_sink* sink,
                      const rmgr_error*) {
  const rmgr_runner runner{sizeof(rmgr_runner), 1, 1, 0, 0, text("\xff")};
  return sink->write(sink->ctx, &runner);
}
rmgr_status register_runner(rmgr_instance*, const rmgr_call*, const rmgr_registration_request* request,
                            const rmgr_registration_sink* sink, const rmgr_error*) {
  static constexpr char secret[] = "secret-of-the-rogue";
  const std::string_view act = view(request->target);
  if (act == "none/none") return RMGR_OK;
  if (act == "id/zero") return sink->write(sink->ctx, 0, {secret, sizeof(secret) - 1});
  if (act == "empty/secret") return sink->write(sink->ctx, 5, {secret, 0});
  const rmgr_status status = sink->write(sink->ctx, 5, {secret, sizeof(secret) - 1});
  if (act == "then/failed") return RMGR_E_UNREACHABLE;
  return act == "twice/twice" ? sink->write(sink->ctx, 6, {secret, sizeof(secret) - 1}) : status;
}
rmgr_status deregister(rmgr_instance*, const rmgr_call*, rmgr_str, int64_t, const rmgr_error*) {
  return RMGR_E_BUSY;
}

constexpr rmgr_gateway gateway{{sizeof(rmgr_gateway), 0, &schema, &create, &destroy},
                               &demand,
                               &inventory,
                               &register_runner,
                               &deregister};

// --- package source

rmgr_status catalog(rmgr_instance*, const rmgr_call*, const rmgr_package_query*,
                    const rmgr_package_sink* sink, const rmgr_error*) {
  const std::string ref(5'000, 'r');
  const rmgr_package package{sizeof(rmgr_package), 0, text("1.2"), text("x.zip"), text(""), -7, text(ref)};
  return sink->write(sink->ctx, &package);
}
rmgr_status fetch(rmgr_instance*, const rmgr_call*, rmgr_str ref, int64_t, rmgr_str,
                  const rmgr_fetch_sink* sink, const rmgr_error*) {
  static const std::string bytes((1U << 20U) + 1, 'b');
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (view(ref) == "early") return sink->chunk(sink->ctx, data, 1);
  sink->begin(sink->ctx, 3, text(""), 0);
  if (view(ref) == "twice") return sink->begin(sink->ctx, 3, text(""), 0);
  if (view(ref) == "large") return sink->chunk(sink->ctx, data, bytes.size());
  for (int i = 0; i < 5; ++i)
    sink->chunk(sink->ctx, data, 1);  // goes on although the sink refuses
  return RMGR_OK;
}

constexpr rmgr_package_source source{
    {sizeof(rmgr_package_source), 0, &schema, &create, &destroy}, &catalog, &fetch};

// --- entry

rmgr_status init(const rmgr_host*, const rmgr_error*) { return RMGR_OK; }
void deinit() {}
const void* get_interface(const char* id) {
  if (std::strcmp(id, RMGR_INTERFACE_EXECUTION_PROVIDER) == 0) return &provider;
  if (std::strcmp(id, RMGR_INTERFACE_GATEWAY) == 0) return &gateway;
  if (std::strcmp(id, RMGR_INTERFACE_PACKAGE_SOURCE) == 0) return &source;
  return nullptr;
}
constexpr const char* interfaces[] = {RMGR_INTERFACE_EXECUTION_PROVIDER, RMGR_INTERFACE_GATEWAY,
                                      RMGR_INTERFACE_PACKAGE_SOURCE, nullptr};
constexpr rmgr_descriptor descriptor{sizeof(rmgr_descriptor), 0,     RMGR_PLUGIN_ID,
                                     RMGR_PLUGIN_VERSION,     "zoo", interfaces};

}  // namespace

extern "C" constinit const rmgr_plugin_entry_t rmgr_plugin_entry{
    RMGR_PLUGIN_MAGIC,           RMGR_ABI_MAJOR, RMGR_ABI_MINOR, RMGR_ABI_MINOR, 0,
    sizeof(rmgr_plugin_entry_t), &descriptor,    &init,          &deinit,        &get_interface};
