#include "plugin/host.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "plugin/manifest.hpp"
#include "unit/plugin/fixture.hpp"

namespace {

using namespace fixture;
using domain::ErrorCode;
using domain::InstanceName;
using plugin::ComponentKind;
using plugin::PluginHost;

class Host : public testing::Test {
 protected:
  // The message with which an instance is refused; also that status() says the same.
  std::string refusal(PluginHost& host, const plugin::InstanceSpec& wanted) {
    const auto added = host.add_instance(wanted);
    EXPECT_FALSE(added) << wanted.plugin;
    if (added) return "";
    for (const auto& status : host.status()) {
      if (status.name != wanted.name) continue;
      EXPECT_FALSE(status.ready);
      EXPECT_EQ(status.refusal, added.error().message);
    }
    return added.error().message;
  }
  std::string refusal(const plugin::InstanceSpec& wanted, const plugin::HostOptions& chosen = options()) {
    PluginHost host(chosen, log);
    return refusal(host, wanted);
  }
  // A directory with a plugin of the zoo under its own name, to be changed by the test.
  std::string copy(const std::string& id) {
    for (const std::string& file : {id + ".so", id + ".manifest.json"}) {
      const std::string from = std::filesystem::exists(zoo + "/" + file) ? zoo : std::string(RMGR_PLUGIN_DIR);
      std::filesystem::copy_file(from + "/" + file, directory / file);
    }
    return directory / (id + ".so");
  }
  plugin::HostOptions copied_options() const {
    plugin::HostOptions chosen = options();
    chosen.directories = {directory.str()};
    return chosen;
  }

  RecordingLog log;
  TempDirectory directory;
};

TEST_F(Host, DiscoversWithoutLoading) {
  PluginHost host(options(), log);
  const auto found = host.discover();
  const auto sample =
      std::find_if(found.begin(), found.end(), [](const auto& one) { return one.manifest.id == "sample"; });
  ASSERT_NE(sample, found.end());
  EXPECT_EQ(sample->refusal, std::nullopt);
  EXPECT_EQ(sample->manifest.version, "1.2.3");
  EXPECT_EQ(sample->manifest.platform, plugin::this_platform());
  EXPECT_EQ(sample->manifest.interfaces.size(), 3U);
  EXPECT_TRUE(sample->path.ends_with("/plugins/sample.so"));
  EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                          [](const auto& one) { return one.manifest.id == "crashes-at-load"; }));
}

TEST_F(Host, LoadsASampleAndTellsItsState) {
  plugin::HostOptions chosen = options();
  chosen.checker = RMGR_BIN_DIR "/rmgr-plugin-check";
  PluginHost host(chosen, log);
  ASSERT_TRUE(host.add_instance(spec("sample")));
  const auto status = host.status();
  ASSERT_EQ(status.size(), 1U);
  EXPECT_TRUE(status[0].ready);
  EXPECT_FALSE(status[0].stuck);
  EXPECT_EQ(status[0].version, "1.2.3");
  const InstanceName name("sample-1");
  EXPECT_NE(host.provider(name), nullptr);
  EXPECT_EQ(host.gateway(name), nullptr);
  EXPECT_EQ(host.package_source(name), nullptr);
  EXPECT_NE(host.ordinary_lane(name), nullptr);
  EXPECT_NE(host.control_lane(name), nullptr);
  EXPECT_NE(host.ordinary_lane(name), host.control_lane(name));
  EXPECT_EQ(host.provider(InstanceName("other")), nullptr);
  EXPECT_EQ(host.add_instance(spec("sample")).error().code, ErrorCode::exists);
  ASSERT_EQ(log.lines().size(), 1U);
  EXPECT_EQ(log.lines()[0].event, observe::Event::plugin_loaded);
}

TEST_F(Host, RefusesWhatIsBroken) {
  EXPECT_NE(refusal(spec("nowhere")).find("no usable manifest"), std::string::npos);
  EXPECT_NE(refusal(spec("wrong-magic", ComponentKind::gateway)).find("wrong magic number"),
            std::string::npos);
  EXPECT_NE(refusal(spec("other-minor", ComponentKind::gateway)).find("ABI " + abi_version(0, 1)),
            std::string::npos);
  EXPECT_NE(refusal(spec("refuses-init", ComponentKind::gateway)).find("The zoo is?closed today."),
            std::string::npos);
  EXPECT_NE(refusal(spec("lacks-functions", ComponentKind::gateway)).find("the operation inventory"),
            std::string::npos);
  EXPECT_NE(refusal(spec("bad-schema", ComponentKind::gateway)).find("/oneOf"), std::string::npos);
  EXPECT_NE(refusal(spec("moody", ComponentKind::gateway)).find("does not offer the interface"),
            std::string::npos);
}

TEST_F(Host, TheFirstLoadHappensInAChild) {
  plugin::HostOptions chosen = options();
  chosen.checker = RMGR_BIN_DIR "/rmgr-plugin-check";
  EXPECT_NE(refusal(spec("crashes-at-load", ComponentKind::gateway), chosen).find("signal 6"),
            std::string::npos);
  EXPECT_NE(refusal(spec("other-minor", ComponentKind::gateway), chosen).find("ABI " + abi_version(0, 1)),
            std::string::npos);
  chosen.checker = "/nonexistent/checker";
  EXPECT_NE(refusal(spec("sample"), chosen).find("cannot be started"), std::string::npos);
  write_file(directory / "slow", "#!/bin/sh\nexec sleep 600\n");
  ::chmod((directory / "slow").c_str(), 0700);
  chosen.checker = directory / "slow";
  chosen.checker_patience = domain::Millis{50};
  EXPECT_NE(refusal(spec("sample"), chosen).find("took too long"), std::string::npos);
}

TEST_F(Host, WhatTheDaemonCrashedInIsQuarantinedAndNotEvenTried) {
  std::int64_t crashes = 1;
  std::vector<std::string> seen;
  plugin::HostOptions chosen = options();
  chosen.record.crashes = [&](std::string_view digest) -> domain::Result<std::int64_t> {
    seen.push_back("look " + std::string(digest));
    return crashes;
  };
  chosen.record.in_use = [&](std::string_view digest) { seen.push_back("use " + std::string(digest)); };
  const std::string digest = *plugin::file_digest(RMGR_PLUGIN_DIR "/sample.so");
  {
    PluginHost host(chosen, log);
    ASSERT_TRUE(host.add_instance(spec("sample")));
    auto second = spec("sample", ComponentKind::gateway);
    second.name = InstanceName("other");
    ASSERT_TRUE(host.add_instance(second));
  }
  const std::string look = "look " + digest;
  const std::string use = "use " + digest;
  EXPECT_EQ(seen, (std::vector<std::string>{look, use, look, use}));
  seen.clear();
  EXPECT_NE(refusal(spec("sample", ComponentKind::execution_provider, R"({"oddity": 1})"), chosen), "");
  EXPECT_EQ(seen, std::vector<std::string>{look}) << "nothing came of it";
  crashes = 2;
  seen.clear();
  chosen.checker = "/nonexistent/checker";
  EXPECT_NE(refusal(spec("sample"), chosen).find("quarantined; install another build"), std::string::npos);
  EXPECT_EQ(seen, std::vector<std::string>{look});
}

TEST_F(Host, WhatIsLoadedIsWhatWasHashed) {
  const std::string library = copy("moody");
  auto pinned = spec("moody");
  pinned.sha256 = *plugin::file_digest(library);
  // Another build takes its place as soon as it was tried, as an upgrade might.
  const std::string other = directory / "other";
  std::filesystem::copy_file(zoo + "/chatty.so", other);
  write_file(directory / "check", "#!/bin/sh\n" RMGR_BIN_DIR "/rmgr-plugin-check \"$@\"\nended=$?\nmv -f " +
                                      other + " " + library + "\nexit $ended\n");
  ::chmod((directory / "check").c_str(), 0700);
  plugin::HostOptions chosen = copied_options();
  chosen.checker = directory / "check";
  EXPECT_NE(refusal(pinned, chosen).find("was replaced or changed while it was in use"), std::string::npos);
  EXPECT_TRUE(log.lines().empty()) << "nothing of it was loaded";
}

TEST_F(Host, AFileKeepsItsIdentityOnlyAsLongAsNobodyTouchesIt) {
  const std::string file = directory / "file";
  const auto touched = [&](const std::function<void()>& touch) {
    std::filesystem::remove(file);
    write_file(file, "one");
    const auto hashed = plugin::HashedFile::read(file);
    EXPECT_TRUE(hashed && hashed->unchanged());
    // Clocks of file systems may stand still for some milliseconds.
    std::this_thread::sleep_for(domain::Millis{50});
    touch();
    return !hashed->unchanged();
  };
  EXPECT_FALSE(touched([] {}));
  EXPECT_TRUE(touched([&] { std::filesystem::remove(file); }));
  EXPECT_TRUE(touched([&] { write_file(file, "longer"); }));
  EXPECT_TRUE(touched([&] {
    std::filesystem::remove(file);
    write_file(file, "one");
  }));
  EXPECT_TRUE(touched([&] {
    std::filesystem::rename(file, file + ".aside");
    write_file(file, "two");
    std::filesystem::rename(file + ".aside", file);
  })) << "put back";
  EXPECT_TRUE(touched([&] {
    std::filesystem::rename(file, file + ".real");
    std::filesystem::create_symlink(file + ".real", file);
  }));
}

TEST_F(Host, APinIsTheFilesDigest) {
  auto pinned = spec("sample");
  pinned.sha256 = *plugin::file_digest(RMGR_PLUGIN_DIR "/sample.so");
  ASSERT_EQ(pinned.sha256->size(), 64U);
  PluginHost host(options(), log);
  EXPECT_TRUE(host.add_instance(pinned));
  auto other = pinned;
  other.name = InstanceName("other");
  other.sha256->front() = other.sha256->front() == '0' ? '1' : '0';
  EXPECT_NE(refusal(host, other).find("pins another"), std::string::npos);
}

TEST_F(Host, TheConfigurationIsCheckedAtOnceAndBeforeCreate) {
  const std::string message = refusal(
      spec("sample", ComponentKind::execution_provider, R"({"level":10,"token":"needle","oddity":1})"));
  EXPECT_NE(message.find("/level must be at most 9."), std::string::npos);
  EXPECT_NE(message.find("/token must be a reference"), std::string::npos);
  EXPECT_NE(message.find("/oddity is not known"), std::string::npos);
  EXPECT_EQ(message.find("needle"), std::string::npos);
}

TEST_F(Host, WhatCreateThrowsIsTheRefusal) {
  const auto with = [](const char* how) {
    return spec("moody", ComponentKind::execution_provider, std::string(R"({"fail":")") + how + "\"}");
  };
  PluginHost host(options(), log);
  EXPECT_EQ(refusal(host, with("error")), "The moody plugin says no.");
  EXPECT_EQ(refusal(host, with("std")), "odd");
  EXPECT_NE(refusal(host, with("int")).find("does not name"), std::string::npos);
  EXPECT_TRUE(host.add_instance(spec("moody")));  // a refused name may try again
}

TEST_F(Host, AnInstanceNameIsAPlainName) {
  for (const char* bad : {"", ".hidden", "a/b", "a b", "a\nb"}) {
    auto wanted = spec("sample");
    wanted.name = InstanceName(bad);
    EXPECT_NE(refusal(wanted).find("is unusable"), std::string::npos) << bad;
  }
}

TEST_F(Host, ManifestAndLibraryMustBelongTogether) {
  copy("moody");
  std::filesystem::rename(directory / "moody.manifest.json", directory / "old");
  write_file(directory / "moody.manifest.json",
             R"({"id":"imposter","version":"0.0.1","library":"moody.so","platform":")" +
                 plugin::this_platform() + R"(","abi":{"major":0,"minor":)" + std::to_string(RMGR_ABI_MINOR) +
                 R"(},"interfaces":["rmgr.execution-provider/1"]})");
  EXPECT_NE(refusal(spec("imposter"), copied_options()).find("says that it is moody"), std::string::npos);
  write_file(directory / "moody.manifest.json",
             R"({"id":"moody","version":"9.0.0","library":"moody.so","platform":")" +
                 plugin::this_platform() + R"(","abi":{"major":0,"minor":)" + std::to_string(RMGR_ABI_MINOR) +
                 R"(},"interfaces":["rmgr.execution-provider/1"]})");
  EXPECT_NE(refusal(spec("moody"), copied_options()).find("its manifest says 9.0.0"), std::string::npos);
}

TEST_F(Host, DiscoveryRefusesWithARemedy) {
  const auto manifest = [&](const std::string& id, const std::string& platform, int minor,
                            const std::string& library) {
    write_file(directory / (id + ".manifest.json"),
               R"({"id":")" + id + R"(","version":"1.0.0","library":")" + library + R"(","platform":")" +
                   platform + R"(","abi":{"major":0,"minor":)" + std::to_string(minor) +
                   R"(},"interfaces":["rmgr.gateway/1"]})");
  };
  write_file(directory / "x.so", "not a library");
  std::filesystem::create_symlink("x.so", directory / "link.so");
  manifest("a-platform", "plan9-mips", RMGR_ABI_MINOR, "x.so");
  manifest("b-version", plugin::this_platform(), 77, "x.so");
  manifest("c-missing", plugin::this_platform(), RMGR_ABI_MINOR, "missing.so");
  manifest("d-link", plugin::this_platform(), RMGR_ABI_MINOR, "link.so");
  manifest("e-path", plugin::this_platform(), RMGR_ABI_MINOR, "../x.so");
  write_file(directory / "f-garbage.manifest.json", "{");
  write_file(directory / "g-large.manifest.json", std::string(70'000, ' '));
  manifest("h-good", plugin::this_platform(), RMGR_ABI_MINOR, "x.so");
  ASSERT_EQ(::mkfifo((directory / "i-pipe.manifest.json").c_str(), 0600), 0);
  plugin::HostOptions chosen = copied_options();
  chosen.directories.push_back(directory.str());  // everything once more
  chosen.directories.push_back(directory / "missing");
  PluginHost host(chosen, log);
  const auto found = host.discover();
  ASSERT_EQ(found.size(), 19U);
  const char* wanted[] = {"install the build for this platform",
                          "ABI 0.77",
                          "is not there",
                          "not a regular file",
                          "plain name",
                          "JSON object",
                          "64 KiB"};
  for (std::size_t i = 0; i < std::size(wanted); ++i)
    EXPECT_NE(found[i].refusal.value_or("").find(wanted[i]), std::string::npos)
        << i << found[i].refusal.value_or("-");
  EXPECT_EQ(found[7].refusal, std::nullopt);
  EXPECT_NE(found[16].refusal.value_or("").find("Another plugin of the same id"), std::string::npos);
  EXPECT_NE(found[8].refusal.value_or("").find("no file"), std::string::npos);
  EXPECT_NE(found[18].refusal.value_or("").find("cannot be read"), std::string::npos);
  EXPECT_NE(refusal(spec("h-good", ComponentKind::gateway), chosen).find("cannot be loaded"),
            std::string::npos);
}

TEST_F(Host, OnlyWhatOthersCannotChangeIsTrusted) {
  EXPECT_EQ(plugin::untrusted("/usr/bin/env"), std::nullopt);
  EXPECT_NE(plugin::untrusted("/usr/nothing-of-that-name").value_or("").find("cannot be examined"),
            std::string::npos);
  // Temporary directories lie below a sticky directory: everybody can write there, but replace nothing of
  // ours.
  write_file(directory / "file", "x");
  EXPECT_EQ(plugin::untrusted(directory / "file"), std::nullopt);
  std::filesystem::create_directory(directory / "open");
  write_file(directory / "open/file", "x");
  ::chmod((directory / "open").c_str(), 0777);
  EXPECT_NE(plugin::untrusted(directory / "open/file").value_or("").find("chmod go-w"), std::string::npos);
  ::chmod((directory / "file").c_str(), 0666);
  EXPECT_NE(plugin::untrusted(directory / "file").value_or("").find("file can be changed"),
            std::string::npos);
  std::filesystem::create_symlink("/usr/bin/env", directory / "link");
  EXPECT_NE(plugin::untrusted(directory / "link").value_or("").find("symbolic link"), std::string::npos);
  copy("sample");
  plugin::HostOptions chosen = copied_options();
  chosen.trust_any_owner = false;
  ::chmod((chosen.directories.front() + "/sample.so").c_str(), 0666);
  EXPECT_NE(refusal(spec("sample"), chosen).find("can be changed by other accounts"), std::string::npos);
}

TEST_F(Host, AForeignOwnerIsNotTrusted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  write_file(directory / "file", "x");
  ASSERT_EQ(::chown((directory / "file").c_str(), 65534, 65534), 0);
  EXPECT_NE(plugin::untrusted(directory / "file").value_or("").find("chown root"), std::string::npos);
}

}  // namespace
