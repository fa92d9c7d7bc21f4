// The files of a directory, one after the other. Each system walks its own way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace plugins::engine {

// What is told of a directory. Names use slashes, and directories end with one.
class TreeVisitor {
 public:
  virtual ~TreeVisitor() = default;
  virtual void directory(const std::string& name, std::uint32_t mode) = 0;
  // `read` fills at most its argument, answers how much, and 0 at the end.
  using Read = std::function<std::size_t(std::span<char>)>;
  virtual void file(const std::string& name, std::uint32_t mode, std::uint64_t size, const Read& read) = 0;
  virtual void link(const std::string& name, const std::string& target) = 0;
};

// Visits everything below `directory`, in the order of names, each with `prefix` before its name. No link is
// followed. Throws rmgr::Error: invalid for what is neither file, directory nor link, or too deep.
void visit_tree(const std::string& directory, const std::string& prefix, TreeVisitor& visitor);

// Visits the file at `path`, also through a link, under `name`.
void visit_file(const std::string& path, const std::string& name, TreeVisitor& visitor);

inline constexpr int most_tree_depth = 64;

}  // namespace plugins::engine
