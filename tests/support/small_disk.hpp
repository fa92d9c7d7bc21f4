// A small file system of one test's own, mounted where the test says. Only root can.
#pragma once

#include <string>

namespace testkit {

class SmallDisk {
 public:
  enum class Kind {
    memory,  // a tmpfs
    ext4,    // in a file beside `directory`, mounted through a loop device
  };
  // Makes `directory` (0700) and mounts there. Not mounted: why_not says why.
  SmallDisk(std::string directory, Kind kind, int mebibytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] bool mounted() const { return why_not_.empty(); }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  // Takes every block that is free, to the last; empty gives them back.
  void fill() const;
  void empty() const;
  // Refused while something is open for writing.
  [[nodiscard]] bool set_read_only(bool on) const;
  // ext4 alone. As after an error of the disk: nothing can be written any more, whatever is open. And the
  // opposite: checked and mounted anew.
  [[nodiscard]] bool abort() const;
  [[nodiscard]] bool repair();

 private:
  [[nodiscard]] std::string ballast() const { return directory_ + "/ballast"; }
  [[nodiscard]] std::string image() const { return directory_ + ".img"; }
  void mount();

  std::string directory_;
  Kind kind_;
  int mebibytes_;
  std::string why_not_;
};

}  // namespace testkit
