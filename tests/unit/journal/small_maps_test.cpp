#include "unit/journal/fixture.hpp"

namespace agent::journal {

using domain::ErrorCode;
using domain::InstanceName;

using SmallMaps = JournalTest;

const InstanceName kA{"a"};
const InstanceName kB{"b"};

TEST_F(SmallMaps, keep_values_across_a_restart_and_apart_by_instance) {
  {
    auto journal = open();
    ASSERT_OK(journal->kv_put(kA, "cursor", "1"));
    ASSERT_OK(journal->kv_put(kA, "cursor", "2"));
    ASSERT_OK(journal->kv_put(kB, "cursor", std::string("\0bytes\xff", 7)));
    ASSERT_OK(journal->kv_put(kB, "empty", ""));
  }
  auto journal = open();
  EXPECT_EQ(**journal->kv_get(kA, "cursor"), "2");
  EXPECT_EQ(**journal->kv_get(kB, "cursor"), std::string("\0bytes\xff", 7));
  EXPECT_EQ(**journal->kv_get(kB, "empty"), "");
  EXPECT_FALSE(journal->kv_get(kA, "empty")->has_value());
  ASSERT_OK(journal->kv_remove(kA, "cursor"));
  ASSERT_OK(journal->kv_remove(kA, "cursor"));
  EXPECT_FALSE(journal->kv_get(kA, "cursor")->has_value());
  EXPECT_TRUE(journal->kv_get(kB, "cursor")->has_value());
}

TEST_F(SmallMaps, list_keys_by_prefix_in_byte_order) {
  auto journal = open();
  for (const char* key : {"b", "ab", "a%", "a_", "aé", "A", "a"})
    ASSERT_OK(journal->kv_put(kA, key, "x"));
  ASSERT_OK(journal->kv_put(kB, "ab2", "x"));
  using Keys = std::vector<std::string>;
  EXPECT_EQ(*journal->kv_list(kA, "a"), (Keys{"a", "a%", "a_", "ab", "aé"}));
  EXPECT_EQ(*journal->kv_list(kA, "a_"), (Keys{"a_"}));
  EXPECT_EQ(*journal->kv_list(kA, "z"), Keys{});
  EXPECT_EQ(journal->kv_list(kA, "")->size(), 7U);
}

TEST_F(SmallMaps, keys_are_1_to_128_bytes) {
  auto journal = open();
  EXPECT_EQ(journal->kv_put(kA, "", "x").error().code, ErrorCode::invalid);
  ASSERT_OK(journal->kv_put(kA, std::string(128, 'k'), "x"));
  EXPECT_EQ(journal->kv_put(kA, std::string(129, 'k'), "x").error().code, ErrorCode::invalid);
}

TEST_F(SmallMaps, hold_64_kib_of_keys_and_values_for_each_instance) {
  constexpr std::size_t kBound = 64 * 1024;
  auto journal = open();
  ASSERT_OK(journal->kv_put(kA, "k", std::string(kBound - 1, 'v')));
  EXPECT_EQ(journal->kv_put(kA, "l", "").error().code, ErrorCode::invalid);
  EXPECT_EQ(journal->kv_put(kA, "k", std::string(kBound, 'v')).error().code, ErrorCode::invalid);
  EXPECT_EQ((*journal->kv_get(kA, "k"))->size(), kBound - 1);
  ASSERT_OK(journal->kv_put(kB, "l", "another instance has its own bound"));
  ASSERT_OK(journal->kv_put(kA, "k", "small"));
  ASSERT_OK(journal->kv_put(kA, "l", std::string(kBound - 7, 'v')));
  EXPECT_EQ(journal->kv_put(kA, "m", "").error().code, ErrorCode::invalid);
}

}  // namespace agent::journal
