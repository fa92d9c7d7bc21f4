// What keeps an entry from being removed although its directory is ours.
#pragma once

namespace agent::workspace {

// Takes away the immutable and the append-only mark, which keep even root from removing. Without the right to
// do so nothing happens, and nothing happens to a file that has a name elsewhere: its mark may be somebody
// else's.
void clear_marks(int fd);

// Gives this account all rights to its own directory.
void make_writable(int fd);

}  // namespace agent::workspace
