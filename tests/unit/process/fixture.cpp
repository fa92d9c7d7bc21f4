#include "unit/process/fixture.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "process/identity.hpp"

namespace agent::process::testing {
namespace fs = std::filesystem;

bool eventually(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(Millis(5));
  }
  return true;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool alive(std::int64_t pid) {
  const auto line = read_stat(pid);
  return line && line->state != 'Z';
}

std::int64_t read_pid(const std::string& path) {
  EXPECT_TRUE(eventually([&] { return read_text(path).ends_with('\n'); })) << path;
  return std::strtoll(read_text(path).c_str(), nullptr, 10);
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

std::size_t zombies() {
  std::size_t count = 0;
  const auto all = all_processes();
  for (const Seen& process : *all) {
    if (process.line.parent == ::getpid() && process.line.state == 'Z') ++count;
  }
  return count;
}

Directory::Directory() {
  std::string name = fs::temp_directory_path() / "rmgr-process-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
  ::chmod(name.c_str(), 0755);  // job accounts pass through
}

Directory::~Directory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

CgroupRoot::CgroupRoot() {
  constexpr long cgroup2_magic = 0x63677270;
  for (const char* mount : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
    struct statfs info {};
    if (::statfs(mount, &info) != 0 || info.f_type != cgroup2_magic) continue;
    std::string name = std::string(mount) + "/rmgr-test-" + std::to_string(::getpid());
    if (::mkdir(name.c_str(), 0755) == 0 || errno == EEXIST) path_ = name;
  }
}

CgroupRoot::~CgroupRoot() {
  if (path_.empty()) return;
  EXPECT_TRUE(eventually([&] { return ::rmdir(path_.c_str()) == 0; })) << path_ << " is not empty";
}

void ProcessTest::SetUp() {
  fs::create_directory(work_);
  fs::permissions(work_, fs::perms::all);
  host_ = make_host();
  ASSERT_NE(host_, nullptr);
}

void ProcessTest::TearDown() {
  for (const auto& [key, identity] : made_)
    EXPECT_TRUE(host_->stop(key, identity, Millis(0), {}).ok()) << key;
  for (const auto& entry : made_)
    EXPECT_TRUE(host_->forget(entry.first).ok()) << entry.first;
  host_.reset();
}

Options ProcessTest::options() const {
  Options options;
  options.shim = std::string(RMGR_BIN_DIR) + "/rmgr-shim";
  options.record_directory = directory_.path() + "/records";
  options.cgroups = cgroups_;
  options.gate_timeout = gate_timeout_;
  return options;
}

std::unique_ptr<ProcessHost> ProcessTest::make_host() {
  auto host = ProcessHost::create(options(), [this](const std::string& key) {
    const std::lock_guard lock(mutex_);
    ++exits_[key];
  });
  if (!host) {
    ADD_FAILURE() << host.error().message;
    return nullptr;
  }
  return std::move(*host);
}

Spec ProcessTest::shell(const std::string& key, const std::string& script) const {
  Spec spec;
  spec.key = key;
  spec.argv = {"/bin/sh", "-c", script};
  spec.environment = {"PATH=/usr/bin:/bin"};
  spec.directory = work_;
  return spec;
}

ProcessIdentity ProcessTest::hold(const Spec& spec) {
  auto identity = host_->spawn_held(spec);
  if (!identity) {
    ADD_FAILURE() << identity.error().message;
    return {};
  }
  made_.emplace_back(spec.key, *identity);
  return *identity;
}

Result<void> ProcessTest::release(const std::string& key, const ProcessIdentity& identity) {
  return host_->release(key, identity, secret_name, secret, Millis(20'000));
}

ProcessIdentity ProcessTest::start(const Spec& spec) {
  const ProcessIdentity identity = hold(spec);
  auto released = release(spec.key, identity);
  EXPECT_TRUE(released.ok()) << released.error().message;
  return identity;
}

State ProcessTest::wait_end(const std::string& key, const ProcessIdentity& identity) {
  State state;
  EXPECT_TRUE(eventually([&] {
    auto seen = host_->inspect(key, identity);
    if (!seen) return false;
    state = *seen;
    return state.phase == Phase::exited || state.phase == Phase::missing;
  }));
  return state;
}

State ProcessTest::run(const std::string& key, const std::string& script) {
  return wait_end(key, start(shell(key, script)));
}

int ProcessTest::exits(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return exits_[key];
}

void TreeTest::SetUp() {
  if (GetParam()) {
    root_ = std::make_unique<CgroupRoot>();
    if (root_->path().empty()) GTEST_SKIP() << "no cgroup v2 directory is writable for this account";
    cgroups_ = {"ours", root_->path(), {}, {}, {}};
  }
  ProcessTest::SetUp();
}

}  // namespace agent::process::testing
