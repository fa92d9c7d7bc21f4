// Counts what was tried and what came of it, and reports the first things that went wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace enumeration {

class Ledger {
 public:
  explicit Ledger(std::string what) : what_(std::move(what)) {}

  void combination() { ++combinations_; }
  void decided() { ++decided_; }
  void doubled(const std::function<std::string()>& where);
  void undecided(const std::function<std::string()>& where);
  void violation(const std::string& rule, const std::function<std::string()>& where);
  // `answer` is a small number; its name is asked for once.
  void count(std::size_t answer, const std::function<std::string()>& name);

  // Prints the counts; a failure unless each combination was decided once and no rule was broken.
  void close() const;

 private:
  void show(const std::string& what, const std::function<std::string()>& where);

  std::string what_;
  std::int64_t combinations_ = 0, decided_ = 0, doubled_ = 0, undecided_ = 0, violations_ = 0;
  int shown_ = 0;
  std::vector<std::int64_t> answers_;
  std::vector<std::string> names_;
  std::map<std::string, std::int64_t> broken_;
};

}  // namespace enumeration
