// The mirror over real directories.
#include "mirror/mirror.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "mirror/digests.hpp"
#include "unit/plugin_github/fakes.hpp"

namespace plugins::mirror {
namespace {

namespace fs = std::filesystem;
using plugin_test::error_of;
using plugin_test::FakeCall;
using plugin_test::FakeHost;
using rmgr::Status;

const std::string kFile = "actions-runner-linux-x64-2.331.0.tar.gz";

struct Received {
  std::int64_t total = -1;
  std::string validator;
  bool restarted = false;
  std::string bytes;
  std::function<void()> on_chunk;

  rmgr_fetch_sink sink{sizeof(rmgr_fetch_sink), 0, this,
                       [](void* ctx, std::int64_t size, rmgr_str proof, std::int32_t again) -> rmgr_status {
                         auto& self = *static_cast<Received*>(ctx);
                         self.total = size;
                         self.validator = rmgr::from_abi(proof);
                         self.restarted = again != 0;
                         return RMGR_OK;
                       },
                       [](void* ctx, const std::uint8_t* data, std::size_t size) -> rmgr_status {
                         auto& self = *static_cast<Received*>(ctx);
                         self.bytes.append(reinterpret_cast<const char*>(data), size);
                         if (self.on_chunk) self.on_chunk();
                         return RMGR_OK;
                       }};
};

class MirrorTest : public testing::Test {
 protected:
  MirrorTest() {
    std::string name = (fs::temp_directory_path() / "rmgr-mirror-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    root = name;
    directory = root / "packages";
    fs::create_directory(directory);
    ::chmod(directory.c_str(), 0755);
    make(directory);
  }
  ~MirrorTest() override { fs::remove_all(root); }
  void make(const fs::path& path) {
    mirror = std::make_unique<Mirror>(host.host(), "{\"directory\":\"" + path.string() + "\"}");
  }
  void write(const std::string& name, const std::string& text, mode_t mode = 0644) {
    std::ofstream(directory / name) << text;
    ::chmod((directory / name).c_str(), mode);
  }
  std::vector<rmgr::Package> catalog() {
    return mirror->catalog(call.call(), {"any/target", "linux", "x64"});
  }
  rmgr::Error catalog_error() {
    return error_of([&] { catalog(); });
  }
  rmgr::Error fetch(Received& received, const std::string& ref = kFile, std::int64_t offset = 0,
                    const std::string& validator = "") {
    return error_of(
        [&] { mirror->fetch(call.call(), ref, offset, validator, rmgr::FetchSink(&received.sink)); });
  }

  fs::path root;
  fs::path directory;
  FakeHost host;
  FakeCall call;
  std::unique_ptr<Mirror> mirror;
};

TEST_F(MirrorTest, OffersWhatFitsWithItsDigest) {
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  write(kFile, "bytes");
  write(kFile + ".sha256", a + "  " + kFile + "\n");
  write("actions-runner-linux-x64-2.330.0.zip", "xx");
  write("actions-runner-linux-x64-2.329.0.zip", "x");
  write("actions-runner-linux-arm64-2.331.0.tar.gz", "x");
  write("actions-runner-win-x64-2.331.0.zip", "x");
  write("notes.txt", "x");
  write("SHA256SUMS", b + " *actions-runner-linux-x64-2.330.0.zip\n" + b + "  " + kFile + "\n");
  const auto packages = catalog();
  ASSERT_EQ(packages.size(), 3U);
  EXPECT_EQ(packages[0].version, "2.329.0");
  EXPECT_EQ(packages[0].sha256, "");
  EXPECT_EQ(packages[1].version, "2.330.0");
  EXPECT_EQ(packages[1].sha256, b);
  EXPECT_EQ(packages[2].version, "2.331.0");
  EXPECT_EQ(packages[2].sha256, a);
  EXPECT_EQ(packages[2].size, 5);
  EXPECT_EQ(packages[2].ref, kFile);
}

TEST_F(MirrorTest, AnEmptyDirectoryOffersNothing) { EXPECT_TRUE(catalog().empty()); }

TEST_F(MirrorTest, RefusesWhatOthersCanWrite) {
  write(kFile, "bytes", 0664);
  EXPECT_EQ(catalog_error().status(), Status::denied);
  Received received;
  EXPECT_EQ(fetch(received).status(), Status::denied);
  write(kFile, "bytes", 0644);
  EXPECT_EQ(catalog_error().status(), Status::ok);
  write(kFile + ".sha256", "x", 0666);
  EXPECT_EQ(catalog_error().status(), Status::denied);
  fs::remove(directory / (kFile + ".sha256"));
  ::chmod(directory.c_str(), 01777);
  EXPECT_EQ(catalog_error().status(), Status::denied);
  EXPECT_EQ(fetch(received).status(), Status::denied);
}

TEST_F(MirrorTest, RefusesWhatBelongsToOthers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another account";
  write(kFile, "bytes");
  ASSERT_EQ(::chown((directory / kFile).c_str(), 12345, 12345), 0);
  EXPECT_EQ(catalog_error().status(), Status::denied);
}

TEST_F(MirrorTest, RefusesLinksAndWhatIsNoFile) {
  write("other", "bytes");
  fs::create_symlink("other", directory / kFile);
  EXPECT_EQ(catalog_error().status(), Status::denied);
  fs::remove(directory / kFile);
  ASSERT_EQ(::mkfifo((directory / kFile).c_str(), 0600), 0);
  EXPECT_EQ(catalog_error().status(), Status::denied);
  fs::remove(directory / kFile);
  fs::create_directory_symlink(directory, root / "link");
  make(root / "link");
  EXPECT_EQ(catalog_error().status(), Status::denied);
}

TEST_F(MirrorTest, AMissingDirectorySaysNothingAboutPackages) {
  make(root / "absent");
  EXPECT_EQ(catalog_error().status(), Status::unreachable);
}

TEST_F(MirrorTest, FetchesAndResumes) {
  std::string bytes(700'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i * 2654435761U >> 11);
  write(kFile, bytes);
  Received whole;
  EXPECT_EQ(fetch(whole).status(), Status::ok);
  EXPECT_TRUE(whole.bytes == bytes);
  EXPECT_EQ(whole.total, 700'000);
  EXPECT_FALSE(whole.restarted);
  Received rest;
  EXPECT_EQ(fetch(rest, kFile, 500'000, whole.validator).status(), Status::ok);
  EXPECT_TRUE(rest.bytes == bytes.substr(500'000));
  EXPECT_FALSE(rest.restarted);
  Received unproven;
  EXPECT_EQ(fetch(unproven, kFile, 500'000, "").status(), Status::ok);
  EXPECT_TRUE(unproven.restarted);
  EXPECT_TRUE(unproven.bytes == bytes);
  Received past;
  EXPECT_EQ(fetch(past, kFile, 800'000, whole.validator).status(), Status::ok);
  EXPECT_TRUE(past.restarted);
  fs::remove(directory / kFile);
  write(kFile, bytes + "more");
  Received other;
  EXPECT_EQ(fetch(other, kFile, 500'000, whole.validator).status(), Status::ok);
  EXPECT_TRUE(other.restarted);
}

TEST_F(MirrorTest, AFileThatChangesWhileItIsReadIsNoPackage) {
  write(kFile, std::string(600'000, 'x'));
  Received received;
  received.on_chunk = [&] { std::ofstream(directory / kFile, std::ios::app) << "y"; };
  EXPECT_EQ(fetch(received).status(), Status::retry);
}

TEST_F(MirrorTest, FetchEndsWithItsCall) {
  write(kFile, std::string(600'000, 'x'));
  Received received;
  received.on_chunk = [&] { call.cancel(); };
  EXPECT_EQ(fetch(received).status(), Status::cancelled);
}

TEST_F(MirrorTest, OnlyPackagesOfItsOwnCanBeFetched) {
  Received received;
  write("secret.txt", "x");
  for (const std::string ref : {"", "secret.txt", "../a-1.2.3.zip", "/etc/a-1.2.3.zip"}) {
    EXPECT_EQ(fetch(received, ref).status(), Status::invalid) << ref;
  }
  EXPECT_EQ(fetch(received).status(), Status::not_found);
  EXPECT_EQ(fetch(received, kFile, -1).status(), Status::invalid);
}

TEST_F(MirrorTest, ItsDirectoryIsAnAbsolutePath) {
  for (const std::string config : {"{}", "[]", "x", R"({"directory":"a"})", R"({"directory":3})"}) {
    EXPECT_EQ(error_of([&] { Mirror(host.host(), config); }).status(), Status::invalid) << config;
  }
}

TEST(Digests, AreFoundByNameOrAlone) {
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  EXPECT_EQ(find_digest(a + "  f\n" + b + "  g\n", "g", false), b);
  EXPECT_EQ(find_digest(a + " *./f\r\n", "f", false), a);
  EXPECT_EQ(find_digest(std::string(64, 'A') + "\n", "f", true), a);
  EXPECT_EQ(find_digest(a + "\n", "f", false), "");
  EXPECT_EQ(find_digest(a + "  f\n" + b + "  f\n", "f", false), "");
  EXPECT_EQ(find_digest(a + "  ff\n", "f", true), "");
  EXPECT_EQ(find_digest("short  f\n", "f", true), "");
  EXPECT_EQ(find_digest("", "f", true), "");
}

}  // namespace
}  // namespace plugins::mirror
