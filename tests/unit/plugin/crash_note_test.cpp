#include "plugin/crash_note.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "unit/plugin/fixture.hpp"

namespace {

using namespace fixture;
using plugin::InCallOf;
using plugin::leave_crash_notes;
using plugin::take_crash_notes;

const std::string kOuter(64, 'a');
const std::string kInner(64, 'b');

class CrashNotes : public testing::Test {
 protected:
  // What a process that does this leaves behind; it must not end normally.
  template <class Work>
  std::vector<std::string> notes_after(Work work) {
    const std::string file = directory_ / "crashed";
    const pid_t pid = ::fork();
    if (pid == 0) {
      // Nothing of the test's own handlers, which would print and exit.
      for (const int signal : {SIGSEGV, SIGABRT})
        std::signal(signal, SIG_DFL);
      if (!leave_crash_notes(file)) ::_exit(1);
      work();
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the signal still ends the process";
    auto notes = take_crash_notes(file);
    EXPECT_TRUE(notes.ok());
    EXPECT_FALSE(std::filesystem::exists(file));
    return *notes;
  }
  TempDirectory directory_;
};

TEST_F(CrashNotes, NameTheLibraryInWhoseCallItHappened) {
  EXPECT_EQ(notes_after([] {
              const InCallOf call(kOuter);
              auto* closed = static_cast<volatile char*>(
                  ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
              *closed = 1;
            }),
            std::vector<std::string>{kOuter});
  EXPECT_EQ(notes_after([] {
              const InCallOf call(kOuter);
              const InCallOf nested(kInner);
              std::abort();
            }),
            std::vector<std::string>{kInner});
}

TEST_F(CrashNotes, BlameNobodyOutsideOfACall) {
  EXPECT_EQ(notes_after([] {
              { const InCallOf call(kOuter); }
              std::abort();
            }),
            std::vector<std::string>{});
}

TEST_F(CrashNotes, BlameNobodyForAnEndFromOutside) {
  EXPECT_EQ(notes_after([] {
              const InCallOf call(kOuter);
              ::kill(::getpid(), SIGKILL);
            }),
            std::vector<std::string>{});
}

TEST_F(CrashNotes, AreReadOnlyIfTheyAreDigests) {
  fixture::write_file(directory_ / "crashed", "short\n" + std::string(64, 'G') + "\n" + kOuter + "\n");
  EXPECT_EQ(*take_crash_notes(directory_ / "crashed"), std::vector<std::string>{kOuter});
  EXPECT_EQ(*take_crash_notes(directory_ / "crashed"), std::vector<std::string>{});
}

}  // namespace
