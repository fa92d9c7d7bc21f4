#include "conform/clients.hpp"

#include <algorithm>

namespace rmgr::conform {

Operation GatewayClient::operation(const char* name, const Within& within) {
  Operation made(name, within);
  if (refuse_) made.state().refuse_from(0);
  refuse_ = false;
  return made;
}

Answer GatewayClient::demand(int& jobs, const Within& within) {
  Operation call = operation("demand", within);
  jobs = 0;
  const auto* sink = call.sink<rmgr_job_sink, rmgr_job>([&](CallState& state, const rmgr_job& job) {
    std::string text;
    state.text(job.repository, text);
    state.text(job.runner_name, text);
    for (std::size_t i = 0; i < job.label_count && job.labels != nullptr; ++i)
      state.text(job.labels[i], text);
    if (job.status != RMGR_JOB_QUEUED && job.status != RMGR_JOB_IN_PROGRESS)
      witness().note(Breach::unknown_status, "demand wrote a job of status " + std::to_string(job.status));
    ++jobs;
  });
  auto* result = shaped(rmgr_demand_result{sizeof(rmgr_demand_result), 0, -1});
  Answer answer = call.run([&] {
    return table<rmgr_gateway>().demand(handle(), call.call(), to_abi(target_), sink, result, call.error());
  });
  expect(padding_intact(result), "demand wrote behind the end of its result.");
  expect(
      !answer.ok() || (result->quota_left_percent >= -1 && result->quota_left_percent <= 100),
      "demand says that " + std::to_string(result->quota_left_percent) + " percent of the quota are left.");
  return answer;
}

Answer GatewayClient::inventory(std::vector<Runner>& runners, const Within& within) {
  Operation call = operation("inventory", within);
  const auto* sink = call.sink<rmgr_runner_sink, rmgr_runner>([&](CallState& state, const rmgr_runner& item) {
    Runner one{item.id, {}};
    state.text(item.name, one.name);
    runners.push_back(std::move(one));
  });
  return call.run([&] {
    return table<rmgr_gateway>().inventory(handle(), call.call(), to_abi(target_), sink, call.error());
  });
}

Answer GatewayClient::register_runner(const std::string& name, std::int64_t& id, const Within& within) {
  Operation call = operation("register_runner", within);
  struct Sink {
    CallState* state;
    std::int64_t* id;
    std::string* secret;
    static rmgr_status RMGR_CALL write(void* ctx, std::int64_t runner, rmgr_secret jit) noexcept {
      const auto* self = static_cast<Sink*>(ctx);
      const rmgr_status status = self->state->accept();
      if (status != RMGR_OK) return status;
      *self->id = runner;
      self->secret->assign(jit.bytes == nullptr ? "" : jit.bytes,
                           std::min<std::size_t>(jit.size, RMGR_SECRET_MAX));
      return RMGR_OK;
    }
  };
  auto receiver = std::make_shared<Sink>(Sink{&call.state(), &id, &secret_});
  witness().keep(receiver);
  const auto* sink =
      shaped(rmgr_registration_sink{sizeof(rmgr_registration_sink), 0, receiver.get(), &Sink::write});
  const rmgr_str label = to_abi(label_);
  rmgr_registration_request request{};
  request.struct_size = sizeof request;
  request.target = to_abi(target_);
  request.name = to_abi(name);
  request.runner_group_id = 1;
  request.labels = &label;
  request.label_count = 1;
  request.work_folder = to_abi("_work");
  const auto* abi = shaped(request);
  return call.run(
      [&] { return table<rmgr_gateway>().register_runner(handle(), call.call(), abi, sink, call.error()); });
}

Answer GatewayClient::deregister(std::int64_t id, const Within& within) {
  Operation call = operation("deregister", within);
  return call.run([&] {
    return table<rmgr_gateway>().deregister(handle(), call.call(), to_abi(target_), id, call.error());
  });
}

std::int64_t GatewayClient::registered(const std::string& name) {
  std::int64_t id = 0;
  const Answer answer = register_runner(name, id);
  expect(answer.ok(), answer.text() + ".");
  expect(id > 0 && !secret_.empty(), "register_runner answered ok without a registration.");
  return id;
}

bool GatewayClient::lists(std::int64_t id, const std::string& name) {
  std::vector<Runner> runners;
  const Answer answer = inventory(runners);
  expect(answer.ok(), answer.text() + ".");
  return std::find(runners.begin(), runners.end(), Runner{id, name}) != runners.end();
}

Answer SourceClient::catalog(std::vector<Package>& packages, const Within& within) {
  Operation call("catalog", within);
  if (refuse_) call.state().refuse_from(0);
  refuse_ = false;
  const auto* sink =
      call.sink<rmgr_package_sink, rmgr_package>([&](CallState& state, const rmgr_package& item) {
        Package one;
        state.text(item.version, one.version);
        state.text(item.filename, one.filename);
        state.text(item.sha256, one.sha256);
        state.text(item.ref, one.ref);
        one.size = item.size;
        packages.push_back(std::move(one));
      });
  rmgr_package_query query{};
  query.struct_size = sizeof query;
  query.target = to_abi(target_);
  query.os = to_abi(os_);
  query.architecture = to_abi(architecture_);
  const auto* abi = shaped(query);
  return call.run(
      [&] { return table<rmgr_package_source>().catalog(handle(), call.call(), abi, sink, call.error()); });
}

namespace {

constexpr std::size_t most_chunk = std::size_t{1} << 20U;

struct FetchReceiver {
  CallState* state;
  Fetched* out;
  std::function<void(CallState&)> seen;

  void problem(const char* what) const {
    if (out->problem.empty()) out->problem = what;
  }
  static rmgr_status RMGR_CALL begin(void* ctx, std::int64_t total, rmgr_str validator,
                                     std::int32_t restarted) noexcept {
    const auto* self = static_cast<FetchReceiver*>(ctx);
    const rmgr_status status = self->state->accept();
    if (status != RMGR_OK) return status;
    if (++self->out->begins > 1) self->problem("begin came twice");
    self->out->total = total;
    self->out->restarted = restarted != 0;
    self->state->text(validator, self->out->validator);
    return RMGR_OK;
  }
  static rmgr_status RMGR_CALL chunk(void* ctx, const std::uint8_t* bytes, std::size_t size) noexcept {
    const auto* self = static_cast<FetchReceiver*>(ctx);
    const rmgr_status status = self->state->accept();
    if (status != RMGR_OK) return status;
    if (self->out->begins == 0) self->problem("a chunk came before begin");
    if (size > most_chunk) self->problem("a chunk is larger than 1 MiB");
    ++self->out->chunks;
    if (bytes != nullptr) self->out->bytes.append(reinterpret_cast<const char*>(bytes), size);
    if (self->seen) self->seen(*self->state);
    return RMGR_OK;
  }
};

}  // namespace

Answer SourceClient::fetch(const std::string& ref, std::int64_t offset, const std::string& validator,
                           Fetched& out, const Within& within, const std::function<void(CallState&)>& seen) {
  Operation call("fetch", within);
  if (refuse_) call.state().refuse_from(0);
  refuse_ = false;
  auto receiver = std::make_shared<FetchReceiver>(FetchReceiver{&call.state(), &out, seen});
  witness().keep(receiver);
  const auto* sink = shaped(rmgr_fetch_sink{sizeof(rmgr_fetch_sink), 0, receiver.get(), &FetchReceiver::begin,
                                            &FetchReceiver::chunk});
  return call.run([&] {
    return table<rmgr_package_source>().fetch(handle(), call.call(), to_abi(ref), offset, to_abi(validator),
                                              sink, call.error());
  });
}

Package SourceClient::first() {
  std::vector<Package> packages;
  const Answer answer = catalog(packages);
  expect(answer.ok(), answer.text() + ".");
  if (packages.empty())
    skip("It offers no package for " + os_ + " " + architecture_ + ", so there is nothing to fetch.");
  return packages.front();
}

}  // namespace rmgr::conform
