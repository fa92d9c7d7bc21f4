#include <gtest/gtest.h>

#include <functional>
#include <type_traits>

#include "rmgr/plugin.hpp"

namespace {

// --- a host of plain C structs

struct Explained {
  std::string message;
  std::int64_t retry_after = 0;
  int times = 0;
  rmgr_error abi{sizeof(rmgr_error), 0, this, [](void* ctx, rmgr_str why, std::int64_t wait) {
                   auto* self = static_cast<Explained*>(ctx);
                   self->message.assign(why.data, why.size);
                   self->retry_after = wait;
                   ++self->times;
                 }};
};

struct FakeCall {
  bool cancelled = false;
  std::int64_t left = 1'000;
  void (*fn)(void*) = nullptr;
  void* arg = nullptr;
  std::uint64_t next = 1;
  std::uint64_t removed = 0;
  rmgr_call abi{sizeof(rmgr_call),
                0,
                this,
                {"id", 2},
                [](void* ctx) { return static_cast<FakeCall*>(ctx)->cancelled ? 1 : 0; },
                [](void* ctx) { return static_cast<FakeCall*>(ctx)->left; },
                [](void* ctx, void (*hook)(void*), void* hook_arg) {
                  auto* self = static_cast<FakeCall*>(ctx);
                  self->fn = hook;
                  self->arg = hook_arg;
                  return self->next;
                },
                [](void* ctx, std::uint64_t id) { static_cast<FakeCall*>(ctx)->removed = id; }};
};

rmgr_status throwing(const std::function<void()>& body, Explained& explained) {
  return rmgr::detail::guard(&explained.abi, body);
}

TEST(Guard, TurnsEverythingThrownIntoAStatus) {
  Explained error;
  EXPECT_EQ(throwing([] {}, error), RMGR_OK);
  EXPECT_EQ(error.times, 0);
  EXPECT_EQ(throwing([] { throw rmgr::Error(rmgr::Status::busy, "in use", rmgr::Millis{5}); }, error),
            RMGR_E_BUSY);
  EXPECT_EQ(error.message, "in use");
  EXPECT_EQ(error.retry_after, 5);
  EXPECT_EQ(throwing([] { throw std::bad_alloc(); }, error), RMGR_E_RETRY);
  EXPECT_EQ(throwing([] { throw std::runtime_error("odd"); }, error), RMGR_E_INTERNAL);
  EXPECT_EQ(error.message, "odd");
  EXPECT_EQ(throwing([] { throw 7; }, error), RMGR_E_INTERNAL);
  EXPECT_EQ(throwing([] { throw rmgr::Error(rmgr::Status::ok, "not ok"); }, error), RMGR_E_INTERNAL);
  EXPECT_EQ(error.times, 5);
  EXPECT_EQ(rmgr::detail::guard(nullptr, [] { throw rmgr::Error(rmgr::Status::denied, "x"); }),
            RMGR_E_DENIED);
}

TEST(Guard, ARefusalOfASinkIsTheAnswer) {
  Explained error;
  EXPECT_EQ(throwing([] { rmgr::detail::expect_taken(RMGR_E_CANCELLED); }, error), RMGR_E_CANCELLED);
}

TEST(Call, ChecksCancelAndDeadline) {
  FakeCall fake;
  const rmgr::Call call(&fake.abi);
  EXPECT_EQ(call.correlation(), "id");
  EXPECT_EQ(call.remaining(), rmgr::Millis{1'000});
  EXPECT_NO_THROW(call.check());
  const auto status = [&] {
    try {
      call.check();
    } catch (const rmgr::Error& error) {
      return error.status();
    }
    return rmgr::Status::ok;
  };
  fake.left = 0;
  EXPECT_EQ(status(), rmgr::Status::deadline);
  fake.cancelled = true;
  EXPECT_EQ(status(), rmgr::Status::cancelled);
}

TEST(Call, AHookRunsAndUnregisters) {
  FakeCall fake;
  fake.next = 42;
  const rmgr::Call call(&fake.abi);
  int runs = 0;
  {
    const rmgr::CancelHook hook = call.on_cancel([&] { ++runs; });
    fake.fn(fake.arg);
    EXPECT_EQ(fake.removed, 0U);
  }
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(fake.removed, 42U);
  {
    const rmgr::CancelHook hook = call.on_cancel([] { throw 7; });
    fake.fn(fake.arg);  // nothing crosses the boundary
  }
  fake.next = 0;
  EXPECT_THROW((void)call.on_cancel([] {}), rmgr::Error);
}

TEST(Secret, MovesAndWipes) {
  static_assert(!std::is_copy_constructible_v<rmgr::Secret> && !std::is_copy_assignable_v<rmgr::Secret>);
  static_assert(!std::is_convertible_v<rmgr::Secret, std::string_view>);
  static_assert(!std::is_convertible_v<rmgr::SecretView, std::string_view>);
  rmgr::Secret first(std::string_view("value"));
  rmgr::Secret second(std::move(first));
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move) what a move leaves is part of the contract
  EXPECT_EQ(second.view().reveal(), "value");
  second = rmgr::Secret(std::string_view("other"));
  EXPECT_EQ(second.view().reveal(), "other");
  second.clear();
  EXPECT_TRUE(second.view().empty());
  char bytes[] = "value";
  rmgr::wipe(bytes, sizeof(bytes));
  EXPECT_EQ(std::string_view(bytes, sizeof(bytes)), std::string_view("\0\0\0\0\0\0", 6));
}

TEST(FetchSink, CutsChunks) {
  std::vector<std::size_t> sizes;
  const rmgr_fetch_sink abi{
      sizeof(rmgr_fetch_sink), 0, &sizes,
      [](void*, std::int64_t, rmgr_str, std::int32_t) -> rmgr_status { return RMGR_E_BUSY; },
      [](void* ctx, const std::uint8_t*, std::size_t size) -> rmgr_status {
        static_cast<std::vector<std::size_t>*>(ctx)->push_back(size);
        return RMGR_OK;
      }};
  const rmgr::FetchSink sink(&abi);
  sink.chunk(std::string((std::size_t{2} << 20U) + 3, 'x'));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1U << 20U, 1U << 20U, 3}));
  EXPECT_THROW(sink.begin(1, "", false), rmgr::Error);
}

TEST(Host, AMissingServiceIsUnsupportedAndLoggingIsSilent) {
  const rmgr_instance_host abi{
      sizeof(rmgr_instance_host), 0, nullptr, {"name", 4}, [](void*, const char*) -> const void* {
        return nullptr;
      }};
  const rmgr::Host host(&abi);
  EXPECT_EQ(host.name(), "name");
  EXPECT_NO_THROW(host.log().error("nobody listens"));
  EXPECT_THROW((void)host.kv().get("x"), rmgr::Error);
  EXPECT_THROW((void)host.clock().wall(), rmgr::Error);
  EXPECT_THROW(host.secrets().with_secret("env:X", [](rmgr::SecretView) {}), rmgr::Error);
}

TEST(Allocation, CarriesAProcessOnlyIfThereIsOne) {
  rmgr_allocation abi{};
  abi.struct_size = sizeof(abi);
  abi.attempt = rmgr::to_abi("attempt");
  EXPECT_FALSE(rmgr::detail::allocation_from(abi).process);
  abi.process.pid = 5;
  abi.process.boot_id = rmgr::to_abi("boot");
  abi.stop_grace_ms = 9;
  const rmgr::Allocation allocation = rmgr::detail::allocation_from(abi);
  EXPECT_EQ(allocation.attempt, "attempt");
  ASSERT_TRUE(allocation.process);
  EXPECT_EQ(allocation.process->boot_id, "boot");
  EXPECT_EQ(allocation.stop_grace, rmgr::Millis{9});
}

}  // namespace
