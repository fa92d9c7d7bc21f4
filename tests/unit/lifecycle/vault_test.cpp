#include "lifecycle/vault.hpp"

#include <gtest/gtest.h>

namespace agent::lifecycle {
namespace {

const domain::AttemptId kAttempt("6f1d2c3b-4a59-4e6f-8a7b-9c0d1e2f3a4b");

OneTimeSecret sealed(std::string text) { return seal(text); }

TEST(Vault, gives_each_secret_once) {
  Vault vault;
  vault.put(kAttempt, sealed("jit"));
  const OneTimeSecret secret = vault.take(kAttempt);
  ASSERT_TRUE(secret);
  EXPECT_EQ(*secret, "jit");
  EXPECT_FALSE(vault.take(kAttempt));
}

TEST(Vault, lets_go_of_what_is_dropped_or_replaced) {
  Vault vault;
  OneTimeSecret first = sealed("first");
  const std::weak_ptr<const std::string> old = first;
  vault.put(kAttempt, std::move(first));
  vault.put(kAttempt, sealed("second"));
  EXPECT_TRUE(old.expired());
  vault.drop(kAttempt);
  EXPECT_FALSE(vault.take(kAttempt));
}

TEST(Seal, leaves_nothing_in_its_source) {
  std::string long_one(200, 's');
  std::string short_one = "short";
  const char* bytes = short_one.data();
  EXPECT_EQ(*seal(long_one), std::string(200, 's'));
  EXPECT_TRUE(long_one.empty());
  EXPECT_EQ(*seal(short_one), "short");
  EXPECT_EQ(std::string(bytes, 5), std::string(5, '\0'));
}

}  // namespace
}  // namespace agent::lifecycle
