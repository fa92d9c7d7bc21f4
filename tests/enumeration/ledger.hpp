// Counts what was tried and what came of it, and reports the first things that went wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace enumeration {

class Ledger {
 public:
  explicit Ledger(std::string what) : what_(std::move(what)) {}

  void combination() { ++combinations_; }
  void decided() { ++decided_; }
  void doubled(const std::function<std::string()>& where);
  void undecided(const std::function<std::string()>& where);
  void violation(const std::string& rule, const std::function<std::string()>& where);
  void count(const std::string& answer) { ++answers_[answer]; }

  // Prints the counts; a failure unless each combination was decided once and no rule was broken.
  void close() const;

 private:
  void show(const std::string& what, const std::function<std::string()>& where);

  std::string what_;
  std::int64_t combinations_ = 0, decided_ = 0, doubled_ = 0, undecided_ = 0, violations_ = 0;
  int shown_ = 0;
  std::map<std::string, std::int64_t> answers_, broken_;
};

}  // namespace enumeration
