// What a job can leave, one kind a row: removed whole or refused, by root and by an ordinary account, with
// both ways to tell a mount, and never with a change to what is outside.
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <atomic>
#include <thread>
#include <tuple>

#include "unit/workspace/scratch.hpp"
#include "workspace/beneath.hpp"
#include "workspace/handle.hpp"

namespace {

using agent::domain::ErrorCode;
using agent::workspace::Fd;
using agent::workspace::RemovalOptions;
using agent::workspace::Resolve;

enum class Made { yes, no };  // no: this account or this filesystem cannot
enum class End { gone, mount, refused };

// Where a row is made: the runtime, and the directory outside with its sentinel.
struct Scene {
  std::string runtime, outside;
  std::vector<std::string> mounts;
  std::vector<std::string> marked;  // immutable, outside

  [[nodiscard]] std::string in(const std::string& name) const { return runtime + "/" + name; }
  [[nodiscard]] Made directory(const std::string& name, mode_t mode = 0755) const {
    return ::mkdir(in(name).c_str(), 0755) == 0 && ::chmod(in(name).c_str(), mode) == 0 ? Made::yes
                                                                                        : Made::no;
  }
  [[nodiscard]] Made file(const std::string& name, std::string_view text = "x") const {
    std::ofstream(in(name), std::ios::binary) << text;
    struct stat info {};
    return ::lstat(in(name).c_str(), &info) == 0 ? Made::yes : Made::no;
  }
  [[nodiscard]] Made link(const std::string& target, const std::string& name) const {
    return ::symlink(target.c_str(), in(name).c_str()) == 0 ? Made::yes : Made::no;
  }
  [[nodiscard]] Made node(const std::string& name, mode_t kind, dev_t device) const {
    return ::mknod(in(name).c_str(), kind | 0600, device) == 0 ? Made::yes : Made::no;
  }
  Made mount(const std::string& arguments, const std::string& at) {
    if (std::system(("mount " + arguments + " '" + at + "' 2>/dev/null").c_str()) != 0) return Made::no;
    mounts.push_back(at);
    return Made::yes;
  }
};

Made all(std::initializer_list<Made> steps) {
  return std::find(steps.begin(), steps.end(), Made::no) == steps.end() ? Made::yes : Made::no;
}

Made mark(const std::string& path, int flag) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  int flags = 0;
  if (!fd || ::ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) != 0) return Made::no;
  flags |= flag;
  return ::ioctl(fd.get(), FS_IOC_SETFLAGS, &flags) == 0 ? Made::yes : Made::no;
}

Made deep(const Scene& scene, int levels, mode_t mode) {
  Fd here(::open(scene.runtime.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < levels; ++level) {
    if (::mkdirat(here.get(), "d", 0755) != 0) return Made::no;
    Fd next(::openat(here.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!next || ::fchmod(here.get(), mode) != 0) return Made::no;
    here = std::move(next);
  }
  return ::symlinkat(scene.outside.c_str(), here.get(), "out") == 0 ? Made::yes : Made::no;
}

Made many(const Scene& scene, int directories, int each) {
  for (int i = 0; i < directories; ++i) {
    const auto name = scene.in(std::to_string(i));
    if (::mkdir(name.c_str(), 0755) != 0) return Made::no;
    const Fd fd(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int file = 0; file < each; ++file)
      ::mknodat(fd.get(), std::to_string(file).c_str(), S_IFREG | 0644, 0);
  }
  return Made::yes;
}

struct Row {
  const char* name;
  End end;
  bool root_only;  // cannot be made or removed by an ordinary account
  Made (*make)(Scene&);
};

const Row kRows[] = {
    {"nothing_at_all", End::gone, false, [](Scene&) { return Made::yes; }},
    {"a_fifo_that_nobody_reads", End::gone, false, [](Scene& s) { return s.node("fifo", S_IFIFO, 0); }},
    {"a_bound_socket", End::gone, false,
     [](Scene& s) {
       const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
       sockaddr_un address{};
       address.sun_family = AF_UNIX;
       s.in("s").copy(address.sun_path, sizeof address.sun_path - 1);
       const bool bound = ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
       return bound ? Made::yes : Made::no;
     }},
    {"a_character_device", End::gone, true, [](Scene& s) { return s.node("null", S_IFCHR, makedev(1, 3)); }},
    {"a_block_device", End::gone, true, [](Scene& s) { return s.node("loop", S_IFBLK, makedev(7, 200)); }},
    {"a_tape_that_rewinds_when_it_is_opened", End::gone, true,
     [](Scene& s) { return s.node("st0", S_IFCHR, makedev(9, 0)); }},
    {"a_read_only_directory", End::gone, false,
     [](Scene& s) {
       return all(
           {s.directory("d"), s.file("d/f"), ::chmod(s.in("d").c_str(), 0555) == 0 ? Made::yes : Made::no});
     }},
    {"a_directory_that_is_closed", End::gone, false,
     [](Scene& s) {
       return all(
           {s.directory("d"), s.file("d/f"), ::chmod(s.in("d").c_str(), 0) == 0 ? Made::yes : Made::no});
     }},
    {"a_runtime_that_is_closed_itself", End::gone, false,
     [](Scene& s) {
       return all({s.file("f"), ::chmod(s.runtime.c_str(), 0) == 0 ? Made::yes : Made::no});
     }},
    {"files_without_any_right", End::gone, false,
     [](Scene& s) {
       return all({s.file("f"), ::chmod(s.in("f").c_str(), 0) == 0 ? Made::yes : Made::no});
     }},
    {"an_immutable_file", End::gone, true,
     [](Scene& s) {
       return all({s.file("f"), mark(s.in("f"), FS_IMMUTABLE_FL)});
     }},
    {"an_immutable_directory", End::gone, true,
     [](Scene& s) {
       return all({s.directory("d"), s.file("d/f"), mark(s.in("d"), FS_IMMUTABLE_FL)});
     }},
    {"an_immutable_runtime", End::gone, true,
     [](Scene& s) {
       return all({s.file("f"), mark(s.runtime, FS_IMMUTABLE_FL)});
     }},
    {"a_file_that_only_grows", End::gone, true,
     [](Scene& s) {
       return all({s.file("f"), mark(s.in("f"), FS_APPEND_FL)});
     }},
    {"a_name_of_an_immutable_file_outside", End::refused, true,
     [](Scene& s) {
       const auto file = s.outside + "/fixed";
       std::ofstream(file) << "fixed";
       if (::link(file.c_str(), s.in("alias").c_str()) != 0) return Made::no;
       s.marked.push_back(file);
       return mark(file, FS_IMMUTABLE_FL);
     }},
    {"two_thousand_levels", End::gone, false, [](Scene& s) { return deep(s, 2000, 0755); }},
    {"two_thousand_read_only_levels", End::gone, false, [](Scene& s) { return deep(s, 2000, 0555); }},
    {"names_that_are_not_utf8", End::gone, false,
     [](Scene& s) {
       return all({s.directory("\xFF\xFE"), s.file("\xFF\xFE/\xC0\xAF")});
     }},
    {"names_with_line_breaks_and_escapes", End::gone, false,
     [](Scene& s) {
       return all({s.directory("a\nb"), s.file("a\nb/\x1b[2J"), s.file("-rf"), s.file("...")});
     }},
    {"names_of_255_bytes", End::gone, false,
     [](Scene& s) {
       const std::string name(255, 'n');
       return all({s.directory(name), s.file(name + "/" + name)});
     }},
    {"names_like_our_own", End::gone, false,
     [](Scene& s) {
       return all({s.directory("pulled-0123456789abcdef"), s.file("pulled-0123456789abcdef/f"),
                   s.file(".layout-0")});
     }},
    {"a_loop_of_links", End::gone, false,
     [](Scene& s) {
       return all({s.link("b", "a"), s.link("a", "b"), s.link("c", "c"), s.link(".", "here")});
     }},
    {"links_to_the_operators_data", End::gone, false,
     [](Scene& s) {
       return all({s.link(s.outside, "d"), s.link(s.outside + "/sentinel", "f"), s.link("../outside", "r"),
                   s.link("/", "root")});
     }},
    {"hard_links_into_a_cache", End::gone, false,
     [](Scene& s) {
       return ::link((s.outside + "/sentinel").c_str(), s.in("alias").c_str()) == 0 ? Made::yes : Made::no;
     }},
    {"a_bind_mount_of_a_directory", End::mount, true,
     [](Scene& s) {
       return all({s.directory("d"), s.file("other"), s.mount("--bind '" + s.outside + "'", s.in("d"))});
     }},
    {"a_bind_mount_of_a_file", End::mount, true,
     [](Scene& s) {
       return all({s.file("f"), s.mount("--bind '" + s.outside + "/sentinel'", s.in("f"))});
     }},
    {"a_mount_over_the_work_directory", End::mount, true,
     [](Scene& s) {
       return all({s.directory("_work"), s.mount("--bind '" + s.outside + "'", s.in("_work"))});
     }},
    {"a_filesystem_of_the_jobs_own", End::mount, true,
     [](Scene& s) {
       return all({s.directory("d"), s.mount("-t tmpfs none", s.in("d")), s.file("d/f")});
     }},
    {"an_overlay_of_the_jobs_own", End::mount, true,
     [](Scene& s) {
       const Made made = all({s.directory("upper"), s.directory("work"), s.directory("merged")});
       const Made mounted = s.mount("-t overlay overlay -o 'lowerdir=" + s.outside +
                                        ",upperdir=" + s.in("upper") + ",workdir=" + s.in("work") + "'",
                                    s.in("merged"));
       return all({made, mounted});
     }},
    {"a_hundred_thousand_files", End::gone, false, [](Scene& s) { return many(s, 100, 1000); }},
    {"thirty_thousand_files_in_one_directory", End::gone, false, [](Scene& s) { return many(s, 1, 30'000); }},
    {"a_sparse_file_of_a_terabyte", End::gone, false,
     [](Scene& s) {
       return all(
           {s.file("sparse"), ::truncate(s.in("sparse").c_str(), 1LL << 40) == 0 ? Made::yes : Made::no});
     }},
    {"a_file_of_64_mebibytes", End::gone, false,
     [](Scene& s) { return s.file("huge", std::string(std::size_t{64} << 20U, 'x')); }},
    {"a_directory_of_another_account", End::refused, false,
     [](Scene& s) {
       // Made by root beside what the ordinary account made; root itself removes it.
       return all({s.directory("foreign", 0755), s.file("foreign/f")});
     }},
};

class Removed : public scratch::Workspace,
                public ::testing::WithParamInterface<std::tuple<int, Resolve, bool>> {
 protected:
  [[nodiscard]] static const Row& row() { return kRows[std::get<0>(GetParam())]; }
};

TEST_P(Removed, OrRefusedAsTheTableSays) {
  const auto [index, resolve, as_root] = GetParam();
  const bool foreign = std::string_view(row().name) == "a_directory_of_another_account";
  const bool heavy = std::string_view(row().name) == "a_hundred_thousand_files";
  if (heavy && as_root != (resolve == Resolve::kernel))
    GTEST_SKIP() << "twice is enough: by the kernel as root, and without its help as an ordinary account";
  if (as_root && ::geteuid() != 0) GTEST_SKIP() << "this test does not run as root";
  if (!as_root && row().root_only) GTEST_SKIP() << "only root can make or remove this";
  if (foreign && ::geteuid() != 0) GTEST_SKIP() << "only root can make files of another account";
  const Fd home(::open(home_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (resolve == Resolve::kernel && !agent::workspace::Beneath::make(home.get(), Resolve::kernel))
    GTEST_SKIP() << "no openat2 here";
  Scene scene{.runtime = directory("runtime"), .outside = directory("outside"), .mounts = {}, .marked = {}};
  file("outside/sentinel", "untouched");
  const auto sentinel_mode = mode_of(scene.outside + "/sentinel");
  const Made made = row().make(scene);
  for (const auto& point : scene.mounts)
    note_mount(point);
  if (made == Made::no) GTEST_SKIP() << "this account or filesystem cannot make it";
  if (!as_root) {
    give_to_stranger(scene.runtime);
    ASSERT_EQ(::chown(home_.c_str(), ::geteuid() == 0 ? scratch::kStranger : ::geteuid(), ::getegid()), 0);
    if (foreign) {
      ASSERT_EQ(std::system(("chown -R 0:0 '" + scene.in("foreign") + "'").c_str()), 0);
    }
  }

  const bool expect_gone = row().end == End::gone || (foreign && as_root);
  const auto judge = [&, way = resolve] {
    RemovalOptions options;
    options.resolve = way;
    const rlimit few{64, 64};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return false;
    const Fd parent(::open(home_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto removal = agent::workspace::remove_entry(parent.get(), "runtime", options);
    if (expect_gone) return removal.ok() && removal->complete && !exists(scene.runtime);
    if (removal.ok()) return false;
    const auto wanted = row().end == End::mount ? ErrorCode::busy : ErrorCode::denied;
    return removal.error().code == wanted && exists(scene.runtime);
  };
  // In a child: its descriptors are few, and it has the account's own rights.
  EXPECT_TRUE(as_root ? in_child(judge) : as_stranger(judge));
  EXPECT_EQ(content(scene.outside + "/sentinel"), "untouched");
  EXPECT_EQ(mode_of(scene.outside + "/sentinel"), sentinel_mode);
  for (const auto& path : scene.marked) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    int flags = 0;
    ASSERT_EQ(::ioctl(fd.get(), FS_IOC_GETFLAGS, &flags), 0);
    EXPECT_NE(flags & FS_IMMUTABLE_FL, 0) << "the mark of somebody else's file was taken away";
    flags &= ~FS_IMMUTABLE_FL;
    ASSERT_EQ(::ioctl(fd.get(), FS_IOC_SETFLAGS, &flags), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Removed,
                         ::testing::Combine(::testing::Range(0, static_cast<int>(std::size(kRows))),
                                            ::testing::Values(Resolve::kernel, Resolve::portable),
                                            ::testing::Bool()),
                         [](const auto& param) {
                           return std::string(kRows[std::get<0>(param.param)].name) +
                                  (std::get<1>(param.param) == Resolve::kernel ? "_kernel" : "_portable") +
                                  (std::get<2>(param.param) ? "_root" : "_ordinary");
                         });

}  // namespace
