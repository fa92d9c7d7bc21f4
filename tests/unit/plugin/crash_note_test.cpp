#include "plugin/crash_note.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "plugin/gate.hpp"
#include "plugin/manifest.hpp"
#include "unit/plugin/fixture.hpp"

namespace {

using namespace fixture;
using plugin::AlternateStack;
using plugin::InCallOf;
using plugin::InHostCode;
using plugin::InPluginAgain;
using plugin::leave_crash_notes;
using plugin::take_crash_notes;

const std::string kOuter(64, 'a');
const std::string kInner(64, 'b');

using Notes = std::vector<std::string>;

void RMGR_CALL crash(void* /*arg*/) { std::abort(); }

// Ends at the end of the stack.
[[gnu::noinline]] int deeper(const volatile bool& on) {
  volatile char frame[4096] = {};
  frame[0] = on ? 1 : 0;
  if (frame[0] == 0) return 0;
  return deeper(on) + frame[1];
}

class CrashNotes : public testing::Test {
 protected:
  // What a process that does this leaves behind; it must not end normally.
  template <class Work>
  Notes notes_after(Work work) {
    int status = 0;
    Notes notes = notes_after(work, status);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the signal still ends the process";
    return notes;
  }
  template <class Work>
  Notes notes_after(Work work, int& status) {
    const std::string file = directory_ / "crashed";
    const pid_t pid = ::fork();
    if (pid == 0) {
      // Nothing of the test's own handlers, which would print and exit.
      for (const int signal : {SIGSEGV, SIGBUS, SIGABRT})
        std::signal(signal, SIG_DFL);
      if (!leave_crash_notes(file)) ::_exit(1);
      work();
      ::_exit(0);
    }
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
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

TEST_F(CrashNotes, BlameNobodyForASignalFromAnotherProcess) {
  EXPECT_EQ(notes_after([] {
              const InCallOf call(kOuter);
              const pid_t daemon = ::getpid();
              if (::fork() == 0) {
                ::kill(daemon, SIGABRT);
                ::_exit(0);
              }
              while (true)
                ::pause();
            }),
            Notes{});
}

TEST_F(CrashNotes, BlameALibraryThatSendsItself) {
  EXPECT_EQ(notes_after([] {
              const InCallOf call(kOuter);
              ::kill(::getpid(), SIGSEGV);
              ::pause();
            }),
            Notes{kOuter});
}

TEST_F(CrashNotes, NameTheLibraryThatCallsExit) {
  int status = 0;
  EXPECT_EQ(notes_after(
                [] {
                  const InCallOf call(kOuter);
                  std::exit(0);
                },
                status),
            Notes{kOuter});
  EXPECT_TRUE(WIFEXITED(status));
}

TEST_F(CrashNotes, BlameNobodyForTheEndOfAForkedChild) {
  int status = 0;
  EXPECT_EQ(notes_after(
                [] {
                  const InCallOf call(kOuter);
                  const pid_t child = ::fork();
                  if (child == 0) std::abort();
                  ::waitpid(child, nullptr, 0);
                },
                status),
            Notes{});
  EXPECT_TRUE(WIFEXITED(status)) << "this process goes on";
}

TEST_F(CrashNotes, BlameNobodyForTheHostsOwnCode) {
  EXPECT_EQ(notes_after([] {
              const InCallOf call(kOuter);
              const InHostCode callback;
              std::abort();
            }),
            Notes{});
  EXPECT_EQ(notes_after([] {
              const InCallOf call(kOuter);
              { const InHostCode callback; }
              std::abort();
            }),
            Notes{kOuter});
  EXPECT_EQ(notes_after([] {
              const InCallOf call(kOuter);
              const InHostCode callback;
              const InPluginAgain function;
              std::abort();
            }),
            Notes{kOuter})
      << "the host called a function of the plugin, or read its memory";
  EXPECT_EQ(notes_after([] {
              const InHostCode callback;
              const InPluginAgain function;
              std::abort();
            }),
            Notes{});
}

TEST_F(CrashNotes, BlameNobodyForAnUnnamedLibraryInsideACall) {
  EXPECT_EQ(notes_after([] {
              const InCallOf call(kOuter);
              const InCallOf unnamed("");
              const InPluginAgain function;
              std::abort();
            }),
            Notes{});
  EXPECT_EQ(notes_after([] {
              const InCallOf call(kOuter);
              { const InCallOf unnamed(""); }
              std::abort();
            }),
            Notes{kOuter});
}

TEST_F(CrashNotes, NameTheLibraryWhoseCancelHookItWas) {
  EXPECT_EQ(notes_after([] {
              plugin::Call call("c", std::chrono::steady_clock::now() + std::chrono::hours(1));
              plugin::Gate gate(call, "one");
              gate.belongs_to(kOuter);
              gate.call()->on_cancel(gate.call()->ctx, &crash, nullptr);
              std::thread([&] { call.cancel(); }).join();
            }),
            Notes{kOuter});
}

TEST_F(CrashNotes, BlameNobodyForWhatTheHostDoesWithAnAnswer) {
  EXPECT_EQ(notes_after([] {
              plugin::Call call("c", std::chrono::steady_clock::now() + std::chrono::hours(1));
              plugin::TextGate gate(call, "one",
                                    [](plugin::Gate&, std::string) -> rmgr_status { std::abort(); });
              const InCallOf blame(kOuter);
              gate.sink()->write(gate.sink()->ctx, {"x", 1});
            }),
            Notes{});
  EXPECT_EQ(notes_after([] {
              plugin::Call call("c", std::chrono::steady_clock::now() + std::chrono::hours(1));
              plugin::TextGate gate(call, "one", [](plugin::Gate&, std::string) { return RMGR_OK; });
              const InCallOf blame(kOuter);
              gate.sink()->write(gate.sink()->ctx, {reinterpret_cast<const char*>(8), 5});
            }),
            Notes{kOuter})
      << "a text that is not there";
}

// Whole calls, in a host with lanes.
class CrashNotesOfAHost : public CrashNotes {
 protected:
  static std::string digest_of(const std::string& id) { return *plugin::file_digest(zoo + "/" + id + ".so"); }
  Notes notes_of(const std::string& id, plugin::ComponentKind kind = plugin::ComponentKind::gateway) {
    return notes_after([&] {
      RecordingLog log;
      plugin::PluginHost host(options(), log);
      const auto wanted = spec(id, kind);
      if (!host.add_instance(wanted)) ::_exit(1);
      plugin::Gateway* const gateway = host.gateway(wanted.name);
      host.ordinary_lane(wanted.name)
          ->submit<plugin::Demand>(
              "c", domain::Millis{60'000},
              [gateway](plugin::Call& call) { return gateway->demand(call, *domain::Target::parse("a/b")); },
              [](const domain::Result<plugin::Demand>&) { ::_exit(0); });
      while (true)
        ::pause();
    });
  }
};

TEST_F(CrashNotesOfAHost, NameWhatAborts) {
  EXPECT_EQ(notes_of("crashes-in-demand"), Notes{digest_of("crashes-in-demand")});
}

TEST_F(CrashNotesOfAHost, NameWhatUsesUpItsStack) {
  EXPECT_EQ(notes_of("overflows-in-demand"), Notes{digest_of("overflows-in-demand")});
}

TEST_F(CrashNotesOfAHost, NameWhatCrashesAsItIsLoaded) {
  EXPECT_EQ(notes_of("crashes-in-init", plugin::ComponentKind::execution_provider),
            Notes{digest_of("crashes-in-init")});
}

TEST_F(CrashNotes, NameTheLibraryThatUsesUpTheStackOfTheThreadThatLoads) {
  EXPECT_EQ(notes_after([] {
              const InCallOf call(kOuter);
              const volatile bool on = true;
              (void)deeper(on);
            }),
            Notes{kOuter});
}

TEST_F(CrashNotes, FindAStackOnThreadsThatHaveNone) {
  std::thread([] {
    stack_t before{};
    ASSERT_EQ(::sigaltstack(nullptr, &before), 0);
    {
      const AlternateStack stack;
      stack_t now{};
      ASSERT_EQ(::sigaltstack(nullptr, &now), 0);
      EXPECT_EQ(now.ss_flags & SS_DISABLE, 0);
      const AlternateStack nested;
      stack_t still{};
      ASSERT_EQ(::sigaltstack(nullptr, &still), 0);
      EXPECT_EQ(still.ss_sp, now.ss_sp) << "one that is there stays";
    }
    stack_t after{};
    ASSERT_EQ(::sigaltstack(nullptr, &after), 0);
    EXPECT_EQ(after.ss_flags & SS_DISABLE, before.ss_flags & SS_DISABLE);
  }).join();
}

TEST_F(CrashNotes, StandOnceForEachLibrary) {
  fixture::write_file(directory_ / "crashed", kOuter + "\n" + kInner + "\n" + kOuter + "\n");
  EXPECT_EQ(*take_crash_notes(directory_ / "crashed"), (Notes{kOuter, kInner}));
}

TEST_F(CrashNotes, AreReadOnlyIfTheyAreDigests) {
  fixture::write_file(directory_ / "crashed", "short\n" + std::string(64, 'G') + "\n" + kOuter + "\n");
  EXPECT_EQ(*take_crash_notes(directory_ / "crashed"), std::vector<std::string>{kOuter});
  EXPECT_EQ(*take_crash_notes(directory_ / "crashed"), std::vector<std::string>{});
}

}  // namespace
