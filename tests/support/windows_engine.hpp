// A Windows container engine that is none: it answers on loopback as one does, refuses what one refuses,
// keeps its containers in memory and their disks in a temporary directory, and runs what they run natively.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/windows_box.hpp"
#include "unit/support_engine/scripted_engine.hpp"

namespace scripted {

class WindowsEngine {
 public:
  WindowsEngine();
  ~WindowsEngine();
  WindowsEngine(const WindowsEngine&) = delete;
  WindowsEngine& operator=(const WindowsEngine&) = delete;

  // An image that is in it, by name and by digest.
  static const std::string& image_name();
  static const std::string& image();

  [[nodiscard]] std::string address() const { return engine_.address(); }
  // What a test scripts there comes before what this engine answers itself.
  Engine& engine() { return engine_; }
  // The requests that change something, without their queries, in the order in which they came.
  [[nodiscard]] std::vector<std::string> changes() const;
  [[nodiscard]] std::size_t containers() const;

 private:
  using Shared = std::shared_ptr<Box>;
  void answer(const Asked& asked, const Line& line);
  void create(const Asked& asked, const Line& line);
  void list(const Asked& asked, const Line& line);
  void act(const Asked& asked, const Line& line, const Shared& box, const std::string& action);
  void attach(const Line& line, const Shared& box);
  static void put(const Asked& asked, const Line& line, const Shared& box);
  static void get(const Asked& asked, const Line& line, const Shared& box);
  void remove(const Line& line, const Shared& box);
  [[nodiscard]] Shared find(const std::string& reference) const;

  testkit::TemporaryDirectory disks_;
  mutable std::mutex mutex_;
  std::map<std::string, Shared> boxes_;  // by id
  int made_ = 0;
  Engine engine_{Engine::Over::tcp};  // ends first, with every answer that is being given
};

}  // namespace scripted
