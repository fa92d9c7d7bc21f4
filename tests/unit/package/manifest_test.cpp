#include "package/manifest.hpp"

#include <gtest/gtest.h>

namespace {

using agent::domain::ErrorCode;
using agent::package::decode;
using agent::package::encode;
using agent::package::Entry;
using agent::package::Kind;
using agent::package::Manifest;

Manifest sample() {
  return {agent::package::PackageDigest(std::string(64, 'a')),
          "2.3.4",
          "linux",
          "x64",
          "github main",
          {{"a", Kind::directory, 0755, 0, ""},
           {"a/b c", Kind::file, 0644, 12, std::string(64, '1')},
           {"a/new\nline%\xFF", Kind::file, 0600, 0, std::string(64, '2')},
           {"z", Kind::link, 0, 0, "a/b c"}}};
}

TEST(ManifestText, ReadsBackWhatItWrote) {
  const auto manifest = sample();
  const auto back = decode(encode(manifest), 10);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->digest, manifest.digest);
  EXPECT_EQ(back->version, "2.3.4");
  EXPECT_EQ(back->os, "linux");
  EXPECT_EQ(back->architecture, "x64");
  EXPECT_EQ(back->source, "github main");
  EXPECT_EQ(back->entries, manifest.entries);
  EXPECT_EQ(total_bytes(*back), 12);
}

TEST(ManifestText, KeepsEmptyFields) {
  auto manifest = sample();
  manifest.source.clear();
  manifest.entries.clear();
  const auto back = decode(encode(manifest), 10);
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->source.empty());
  EXPECT_TRUE(back->entries.empty());
}

TEST(ManifestText, IsCutNowhereUnseen) {
  const auto text = encode(sample());
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto back = decode(std::string_view(text).substr(0, size), 10);
    ASSERT_FALSE(back.ok()) << size;
    EXPECT_EQ(back.error().code, ErrorCode::corrupt);
  }
  EXPECT_FALSE(decode(text + "x", 10).ok());
  EXPECT_FALSE(decode(text + text, 10).ok());
}

TEST(ManifestText, RefusesWhatItWouldNotWrite) {
  const auto text = encode(sample());
  const auto with = [&](const std::string& from, const std::string& to) {
    auto changed = text;
    const auto at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return decode(changed.replace(at, from.size(), to), 10).ok();
  };
  EXPECT_TRUE(with("d 0755", "d 0700"));
  EXPECT_FALSE(with("manifest 1", "manifest 2"));
  EXPECT_FALSE(with("d 0755", "d 4755"));
  EXPECT_FALSE(with("d 0755", "x 0755"));
  EXPECT_FALSE(with("f 0644 12", "f 0644 -12"));
  EXPECT_FALSE(with(std::string(64, '1'), std::string(63, '1')));
  EXPECT_FALSE(with("% a\n", "% ../a\n"));
  EXPECT_FALSE(with("% a\n", "% /a\n"));
  EXPECT_FALSE(with("% a\n", "% zz\n"));  // out of order
  EXPECT_FALSE(with("end 4", "end 3"));
  EXPECT_FALSE(with("%0A", "%0"));
  EXPECT_FALSE(with("%0A", "%00"));
}

TEST(ManifestText, IsBounded) {
  EXPECT_TRUE(decode(encode(sample()), 4).ok());
  EXPECT_FALSE(decode(encode(sample()), 3).ok());
}

}  // namespace
