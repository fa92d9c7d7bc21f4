// The facade over rmgr.package-source/1.
#include "rmgr/abi/package_source.h"
#include "plugin/instance.hpp"

namespace agent::plugin {
namespace {

constexpr std::size_t most_chunk = std::size_t{1} << 20U;
constexpr std::size_t most_name = 255;
constexpr std::size_t most_ref = 4096;
constexpr std::size_t most_validator = 4096;

// Passes a stream on. What the receiver refuses becomes the answer of the whole fetch.
class FetchGate final : public Gate {
 public:
  FetchGate(Call& call, std::string subject, const PackageSource::Receiver& receiver)
      : Gate(call, std::move(subject)),
        receiver_(&receiver),
        sink_{sizeof(rmgr_fetch_sink), 0, context(), &FetchGate::begin, &FetchGate::chunk} {}
  [[nodiscard]] const rmgr_fetch_sink* sink() const { return &sink_; }

 private:
  static rmgr_status RMGR_CALL begin(void* ctx, std::int64_t total, rmgr_str validator,
                                     std::int32_t restarted) noexcept {
    return enter(ctx, [&](Gate& gate) -> rmgr_status {
      auto& self = static_cast<FetchGate&>(gate);
      std::string text;
      const rmgr_status status = gate.text(validator, text, most_validator);
      if (status != RMGR_OK) return status;
      if (self.begun_) return gate.violation("a second begin");
      if (total < -1) return gate.violation("a negative size");
      self.begun_ = true;
      return self.passed(as_host([&] { return self.receiver_->begin(total, text, restarted != 0); }));
    });
  }
  static rmgr_status RMGR_CALL chunk(void* ctx, const std::uint8_t* bytes, std::size_t size) noexcept {
    return enter(ctx, [&](Gate& gate) -> rmgr_status {
      auto& self = static_cast<FetchGate&>(gate);
      if (!self.begun_) return gate.violation("a chunk before begin");
      if (size > most_chunk || (size > 0 && bytes == nullptr))
        return gate.violation("a chunk of unusable size");
      if (self.stopped_) return RMGR_E_CANCELLED;
      const std::string_view chunk(reinterpret_cast<const char*>(bytes), size);
      return self.passed(as_host([&] { return self.receiver_->chunk(chunk); }));
    });
  }
  rmgr_status passed(const Result<void>& taken) {
    if (taken) return RMGR_OK;
    stopped_ = true;
    return refuse(taken.error());
  }
  void release() override { receiver_ = nullptr; }
  const PackageSource::Receiver* receiver_;
  bool begun_ = false;
  bool stopped_ = false;
  rmgr_fetch_sink sink_;
};

class Source final : public PackageSource {
 public:
  explicit Source(std::shared_ptr<Instance> instance)
      : instance_(std::move(instance)), table_(instance_->table<rmgr_package_source>()) {}

  [[nodiscard]] Result<void> complete() const {
    if (table_.catalog == nullptr) return lacks(*instance_, "catalog");
    if (table_.fetch == nullptr) return lacks(*instance_, "fetch");
    return {};
  }

  Result<std::vector<PackageOffer>> catalog(Call& call, const std::string& target, const std::string& os,
                                            const std::string& architecture) override {
    std::vector<PackageOffer> answer;
    const auto gate = std::make_shared<ItemGate<rmgr_package_sink, rmgr_package>>(
        call, instance_->name(), [&answer](Gate& open, const rmgr_package& item) -> rmgr_status {
          PackageOffer offer;
          offer.size = item.size < 0 ? -1 : item.size;
          rmgr_status status = open.text(item.version, offer.version, most_name);
          if (status == RMGR_OK) status = open.text(item.filename, offer.filename, most_name);
          if (status == RMGR_OK) status = open.text(item.sha256, offer.sha256, most_name);
          if (status == RMGR_OK) status = open.text(item.ref, offer.ref, most_ref);
          if (status == RMGR_OK) answer.push_back(std::move(offer));
          return status;
        });
    const rmgr_package_query query{sizeof(rmgr_package_query), 0, to_abi(target), to_abi(os),
                                   to_abi(architecture)};
    const Result<void> done = instance_->run(gate, [&] {
      return table_.catalog(instance_->handle(), gate->call(), &query, gate->sink(), gate->error());
    });
    if (!done) return done.error();
    return answer;
  }

  Result<void> fetch(Call& call, std::string_view ref, std::int64_t offset, std::string_view validator,
                     const Receiver& receiver) override {
    const auto gate = std::make_shared<FetchGate>(call, instance_->name(), receiver);
    return instance_->run(gate, [&] {
      return table_.fetch(instance_->handle(), gate->call(), to_abi(ref), offset, to_abi(validator),
                          gate->sink(), gate->error());
    });
  }

 private:
  std::shared_ptr<Instance> instance_;
  rmgr_package_source table_;
};

}  // namespace

Result<std::unique_ptr<PackageSource>> make_package_source(std::shared_ptr<Instance> instance) {
  auto source = std::make_unique<Source>(std::move(instance));
  const Result<void> complete = source->complete();
  if (!complete) return complete.error();
  return std::unique_ptr<PackageSource>(std::move(source));
}

}  // namespace agent::plugin
