// Removal of one tree that hostile processes may still be writing to.
//
// Every step names one entry of a directory that is held open, so what a path means elsewhere does not
// matter. At most `levels` directories are held: what lies deeper is renamed into the top of the tree and
// removed from there in the next pass. That keeps descriptors and memory constant for a tree of any depth,
// needs no way back through "..", and still names single entries of held directories only.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "domain/time.hpp"
#include "workspace/workspace.hpp"

namespace agent::workspace {

// How a mount point is told: by the kernel while it opens (openat2), or by comparing mount ids afterwards.
enum class Resolve { automatic, kernel, portable };

struct RemovalOptions {
  Resolve resolve = Resolve::automatic;
  int passes = 8;                   // over a directory that others keep filling
  std::size_t levels = 24;          // directories held open at once, at least 2
  domain::Millis limit{600'000};    // for the whole removal
  std::function<bool()> cancelled;  // asked now and then; empty: never
};

// As remove_runtime, for the entry `name` of the open directory `parent`.
domain::Result<Removal> remove_entry(int parent, const std::string& name, const RemovalOptions& options = {});

}  // namespace agent::workspace
