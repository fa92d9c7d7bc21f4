#include "plugin/secrets.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <optional>

#include "unit/plugin/fixture.hpp"

namespace {

using namespace fixture;
using domain::ErrorCode;

class Secrets : public testing::Test {
 protected:
  // The value, or the code of the refusal.
  std::pair<std::string, std::optional<ErrorCode>> read(const std::string& reference) {
    std::string value;
    const auto done = plugin::with_secret(reference, [&](std::string_view seen) { value = seen; });
    if (done) return {value, std::nullopt};
    EXPECT_EQ(done.error().message.find("needle"), std::string::npos) << done.error().message;
    return {"", done.error().code};
  }
  std::string file(const std::string& text, mode_t mode = 0600) {
    write_file(directory / "secret", text);
    ::chmod((directory / "secret").c_str(), mode);
    return "file:" + directory / "secret";
  }
  ErrorCode refusal(const std::string& reference) {
    return read(reference).second.value_or(ErrorCode::corrupt);
  }
  TempDirectory directory;
};

TEST_F(Secrets, AFileIsReadAnewAndTrimmed) {
  EXPECT_EQ(read(file("needle \r\n\n")).first, "needle");
  EXPECT_EQ(read(file("rotated")).first, "rotated");
  EXPECT_EQ(read(file("read-only", 0400)).first, "read-only");
  EXPECT_EQ(read(file(std::string(65'536, 'x'))).first.size(), 65'536U);
}

TEST_F(Secrets, AFileThatOthersReachIsRefused) {
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0660, 0644, 0777})
    EXPECT_EQ(refusal(file("needle", mode)), ErrorCode::denied) << std::oct << mode;
}

TEST_F(Secrets, OnlyRegularFilesAreRead) {
  EXPECT_EQ(refusal("file:" + directory / "missing"), ErrorCode::not_found);
  EXPECT_EQ(refusal("file:" + directory.str()), ErrorCode::denied);
  (void)file("needle");
  std::filesystem::create_symlink("secret", directory / "link");
  EXPECT_EQ(refusal("file:" + directory / "link"), ErrorCode::denied);
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(refusal("file:" + directory / "fifo"), ErrorCode::denied);
}

TEST_F(Secrets, AForeignFileIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string reference = file("needle");
  ASSERT_EQ(::chown((directory / "secret").c_str(), 65534, 65534), 0);
  EXPECT_EQ(refusal(reference), ErrorCode::denied);
}

TEST_F(Secrets, OnlyAPemTextHasLines) {
  const std::string pem = "-----BEGIN PRIVATE KEY-----\r\nAAAA\nBBBB\n-----END PRIVATE KEY-----";
  EXPECT_EQ(read(file(pem + "\n")).first, pem);
  EXPECT_EQ(refusal(file("-----BEGIN PRIVATE KEY-----\nneedle\x01\n-----END PRIVATE KEY-----")),
            ErrorCode::invalid);
  EXPECT_EQ(refusal(file("-----BEGIN PRIVATE KEY-----\nneedle")), ErrorCode::invalid);
  EXPECT_EQ(refusal(file("needle\n-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----")),
            ErrorCode::invalid);
}

TEST_F(Secrets, UnusableValuesAreRefused) {
  EXPECT_EQ(refusal(file("")), ErrorCode::invalid);
  EXPECT_EQ(refusal(file(" \n")), ErrorCode::invalid);
  EXPECT_EQ(refusal(file("needle\nneedle")), ErrorCode::invalid);
  EXPECT_EQ(refusal(file(std::string("needle\0x", 8))), ErrorCode::invalid);
  EXPECT_EQ(refusal(file("needle" + std::string(65'536, 'x'))), ErrorCode::invalid);
}

TEST_F(Secrets, UnusableReferencesAreRefusedWithoutRepeatingThem) {
  for (const char* reference : {"", "needle", "file:", "file:needle", "env:", "env:a=b",
                                "credential:", "credential:../x", "credential:a/b", "https://needle"})
    EXPECT_EQ(refusal(reference), ErrorCode::invalid) << reference;
}

TEST_F(Secrets, TheEnvironmentIsRead) {
  ASSERT_EQ(::setenv("RMGR_TEST_SECRET", "from the environment", 1), 0);
  EXPECT_EQ(read("env:RMGR_TEST_SECRET").first, "from the environment");
  ASSERT_EQ(::unsetenv("RMGR_TEST_SECRET"), 0);
  EXPECT_EQ(refusal("env:RMGR_TEST_SECRET"), ErrorCode::not_found);
}

TEST_F(Secrets, CredentialsComeFromTheServiceManager) {
  ASSERT_EQ(::unsetenv("CREDENTIALS_DIRECTORY"), 0);
  EXPECT_EQ(refusal("credential:secret"), ErrorCode::not_found);
  ASSERT_EQ(::setenv("CREDENTIALS_DIRECTORY", directory.str().c_str(), 1), 0);
  (void)file("credential", 0440);
  EXPECT_EQ(read("credential:secret").first, "credential");
  (void)file("needle", 0444);
  EXPECT_EQ(refusal("credential:secret"), ErrorCode::denied);
  ASSERT_EQ(::unsetenv("CREDENTIALS_DIRECTORY"), 0);
}

}  // namespace
