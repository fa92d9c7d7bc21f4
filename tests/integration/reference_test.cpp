// The committed reference of the configuration is what the program says.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "support/agent.hpp"

namespace integration {
namespace {

TEST(Reference, the_committed_page_is_current) {
  int exit_code = -1;
  const std::string made = testkit::run_program(
      {RMGR_BIN_DIR "/runner-manager", "config", "reference", "--plugin-dir", RMGR_PLUGIN_DIR, "--plugin",
       "github", "--plugin", "mirror", "--plugin", "native", "--plugin", "oci"},
      &exit_code);
  ASSERT_EQ(exit_code, 0);
  std::ifstream file(RMGR_SOURCE_DIR "/docs/configuration-reference.md", std::ios::binary);
  const std::string committed((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(committed, made) << "make it anew with scripts/configuration-reference";
  for (const char* key :
       {"`state`", "`policies[].timeouts.idle`", "`app.private_key`", "`run_as.pool`", "`directory`"})
    EXPECT_NE(made.find(key), std::string::npos) << key;
}

}  // namespace
}  // namespace integration
