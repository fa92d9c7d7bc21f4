#include "enumeration/ledger.hpp"

#include <gtest/gtest.h>

#include <iostream>

namespace enumeration {

namespace {
constexpr int kMostShown = 20;
}

void Ledger::show(const std::string& what, const std::function<std::string()>& where) {
  if (++shown_ <= kMostShown) ADD_FAILURE() << what << ": " << where();
}

void Ledger::doubled(const std::function<std::string()>& where) {
  ++doubled_;
  show("more than one rule decides", where);
}

void Ledger::undecided(const std::function<std::string()>& where) {
  ++undecided_;
  show("no rule decides", where);
}

void Ledger::violation(const std::string& rule, const std::function<std::string()>& where) {
  ++violations_;
  if (++broken_[rule] <= 3) show(rule, where);
}

void Ledger::count(std::size_t answer, const std::function<std::string()>& name) {
  if (answer >= answers_.size()) {
    answers_.resize(answer + 1, 0);
    names_.resize(answer + 1);
  }
  if (answers_[answer]++ == 0) names_[answer] = name();
}

void Ledger::close() const {
  std::cout << what_ << '\n';
  for (std::size_t answer = 0; answer < answers_.size(); ++answer) {
    if (answers_[answer] > 0) std::cout << "  " << names_[answer] << ": " << answers_[answer] << '\n';
  }
  for (const auto& [rule, times] : broken_)
    std::cout << "  broken " << times << " times: " << rule << '\n';
  std::cout << combinations_ << " combinations, " << decided_ << " decided, " << doubled_ << " doubled, "
            << undecided_ << " undecided, " << violations_ << " violations\n";
  EXPECT_GT(combinations_, 0);
  EXPECT_EQ(decided_, combinations_);
  EXPECT_EQ(doubled_, 0);
  EXPECT_EQ(undecided_, 0);
  EXPECT_EQ(violations_, 0);
}

}  // namespace enumeration
