// Fills a directory with made-up files of many sizes, about half compressible, the same for the same
// arguments.
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

namespace {

constexpr std::uint64_t kFilesPerDirectory = 40;

class Random {
 public:
  std::uint64_t next() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_;
  }

 private:
  std::uint64_t state_ = 0x9E3779B97F4A7C15ULL;
};

// Most files are small and a few are large: the weight of a file is one of 1, 4, 16, 64 and 1024.
std::uint64_t weight(std::uint64_t draw) {
  if (draw % 1000 < 5) return 1024;
  if (draw % 1000 < 60) return 64;
  if (draw % 1000 < 250) return 16;
  return draw % 1000 < 600 ? 4 : 1;
}

void fill(const std::filesystem::path& path, std::uint64_t size, Random& random) {
  std::string text;
  text.reserve(size + 16);
  while (text.size() < size) {
    const std::uint64_t draw = random.next();
    text.append(reinterpret_cast<const char*>(&draw), sizeof draw);
    text.append("function");
  }
  text.resize(size);
  std::ofstream(path, std::ios::binary) << text;
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: emulator-package-filler DIRECTORY FILES BYTES\n";
    return 2;
  }
  const std::filesystem::path root = argv[1];
  const std::uint64_t files = number(argv[2]);
  const std::uint64_t bytes = number(argv[3]);
  Random weights;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < files; ++i)
    sum += weight(weights.next());
  Random again;
  Random content;
  for (std::uint64_t i = 0; i < files; ++i) {
    const auto directory = root / ("d" + std::to_string(i / kFilesPerDirectory % 16)) /
                           ("e" + std::to_string(i / kFilesPerDirectory));
    std::filesystem::create_directories(directory);
    fill(directory / ("f" + std::to_string(i) + ".h"), bytes / sum * weight(again.next()), content);
  }
  return 0;
}
