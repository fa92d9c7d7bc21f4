// The runner packages on offer. Only files that were given are real; rows for other platforms lead nowhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace emulator {

struct PackageRow {
  std::string os;
  std::string architecture;
  std::string filename;
  std::string checksum;  // what is published, which a test may have spoilt
  bool checksum_listed = true;
  std::string path;  // empty: not served
  std::uint64_t size = 0;
};

class Packages {
 public:
  // Reads the file once for its digest. The platform and version come from a name like
  // actions-runner-linux-x64-2.330.0.tar.gz. Throws std::runtime_error if it cannot be read or is not named
  // so. `checksum`: empty publishes the true digest, "absent" none at all, anything else is published as it
  // stands.
  void offer(const std::string& path, const std::string& checksum);
  void withdraw_all() { rows_.clear(); }
  // Real rows first in each platform, then made-up ones for the platforms without a file.
  [[nodiscard]] std::vector<PackageRow> rows() const;
  [[nodiscard]] std::optional<PackageRow> find(std::string_view filename) const;

 private:
  std::vector<PackageRow> rows_;
};

}  // namespace emulator
