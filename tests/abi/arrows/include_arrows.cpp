#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "abi/arrows/arrows.hpp"

namespace {

namespace fs = std::filesystem;

TEST(IncludeArrows, HoldInTheWholeTree) {
  const fs::path root(RMGR_SOURCE_DIR);
  std::size_t files = 0;
  for (const char* part : {"core", "sdk", "plugins"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / part)) {
      const std::string extension = entry.path().extension().string();
      if (!entry.is_regular_file() || (extension != ".cpp" && extension != ".hpp" && extension != ".h"))
        continue;
      ++files;
      std::ifstream in(entry.path());
      std::ostringstream text;
      text << in.rdbuf();
      const std::string file = fs::relative(entry.path(), root).generic_string();
      for (const arrows::Include& include : arrows::includes_of(text.str())) {
        const auto refused = arrows::refusal(file, include);
        EXPECT_FALSE(refused) << file << ": " << refused.value_or("");
      }
    }
  }
  EXPECT_GT(files, 20U);
}

struct Case {
  const char* file;
  arrows::Include include;
  bool allowed;
};

TEST(IncludeArrows, JudgeEachKind) {
  const Case cases[] = {
      {"core/lifecycle/machine.cpp", {"journal/journal.hpp"}, true},
      {"core/journal/journal.cpp", {"lifecycle/machine.hpp"}, false},
      {"core/journal/journal.cpp", {"plugin/host.hpp"}, false},
      {"core/domain/ids.cpp", {"observe/log.hpp"}, false},
      {"core/observe/log.cpp", {"domain/ids.hpp"}, true},
      {"core/config/config.cpp", {"lifecycle/machine.hpp"}, false},
      {"core/cli/main/main.cpp", {"daemon/daemon.hpp"}, true},
      {"core/daemon/loop.cpp", {"cli/command.hpp"}, false},
      {"core/plugin/host.cpp", {"rmgr/abi/entry.h"}, true},
      {"core/process/shim/main.cpp", {"rmgr/abi/entry.h"}, false},
      {"core/journal/journal.cpp", {"sqlite3.h", true}, true},
      {"core/lifecycle/machine.cpp", {"sqlite3.h", true}, false},
      {"core/plugin/library.cpp", {"boost/dll/shared_library.hpp", true}, true},
      {"core/daemon/loop.cpp", {"boost/asio/io_context.hpp", true}, true},
      {"core/process/process.cpp", {"boost/asio/io_context.hpp", true}, false},
      {"plugins/github/gateway.cpp", {"rmgr/plugin.hpp"}, true},
      {"plugins/github/gateway.cpp", {"support/http/client.hpp"}, true},
      {"plugins/github/gateway.cpp", {"github/rest.hpp"}, true},
      {"plugins/github/gateway.cpp", {"native/provider.hpp"}, false},
      {"plugins/github/gateway.cpp", {"domain/ids.hpp"}, false},
      {"plugins/github/gateway.cpp", {"domain/ids.hpp", true}, false},
      {"plugins/github/gateway.cpp", {"curl/curl.h", true}, false},
      {"plugins/support/http/client.cpp", {"curl/curl.h", true}, true},
      {"sdk/include/rmgr/host.hpp", {"nlohmann/json.hpp", true}, false},
      {"sdk/include/rmgr/host.hpp", {"domain/ids.hpp"}, false},
      {"sdk/conform/host.cpp", {"rmgr/abi/host.h"}, true},
      {"sdk/conform/host.cpp", {"sys/stat.h", true}, true},
      {"sdk/conform/host.cpp", {"domain/ids.hpp"}, false},
      {"sdk/conform/host.cpp", {"nlohmann/json.hpp", true}, false},
      {"core/cli/main/main.cpp", {"../daemon/daemon.hpp"}, false},
  };
  for (const Case& one : cases)
    EXPECT_EQ(!arrows::refusal(one.file, one.include), one.allowed) << one.file << " -> " << one.include.path;
}

TEST(IncludeArrows, ReadEveryForm) {
  const auto found =
      arrows::includes_of("#include <a/b.h>\n  #  include \"c.hpp\"\n// #include nothing\n#include \"d\"");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].path, "a/b.h");
  EXPECT_TRUE(found[0].angled);
  EXPECT_EQ(found[1].path, "c.hpp");
  EXPECT_EQ(found[2].path, "d");
}

}  // namespace
