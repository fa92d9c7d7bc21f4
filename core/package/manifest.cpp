#include "package/manifest.hpp"

#include <charconv>

#include "package/digest.hpp"

namespace agent::package {

using domain::Error;
using domain::ErrorCode;

namespace {

constexpr std::string_view kFormat = "runner-manager-manifest 1";

std::string escape(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7F && byte != '%') {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
  return out.empty() ? "%" : out;
}

std::optional<std::string> unescape(std::string_view text) {
  std::string out;
  if (text == "%") return out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned byte = 0;
    if (i + 2 >= text.size() ||
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr != text.data() + i + 3) {
      return std::nullopt;
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

// Takes the text up to `separator` off the front; nothing if there is no separator.
std::optional<std::string_view> take(std::string_view& text, char separator) {
  const auto at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const auto part = text.substr(0, at);
  text.remove_prefix(at + 1);
  return part;
}

template <class Number>
std::optional<Number> number(std::optional<std::string_view> text, int base) {
  Number value{};
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value, base);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

std::string octal(unsigned mode) {
  std::string text(4, '0');
  for (std::size_t i = 4; i-- > 0; mode >>= 3U)
    text[i] = static_cast<char>('0' + (mode & 7U));
  return text;
}

bool is_relative_path(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) return false;
  while (true) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

std::optional<Entry> parse_entry(std::string_view line) {
  const auto kind = take(line, ' ');
  const auto mode = number<unsigned>(take(line, ' '), 8);
  const auto size = number<std::int64_t>(take(line, ' '), 10);
  const auto content = take(line, ' ');
  if (!kind || !mode || *mode > 0777 || !size || *size < 0 || !content) return std::nullopt;
  auto path = unescape(line);
  auto target = unescape(*content);
  if (!path || !target || !is_relative_path(*path)) return std::nullopt;
  Entry entry{std::move(*path), Kind::file, *mode, *size, std::move(*target)};
  if (*kind == "f") return is_digest(entry.content) ? std::optional(std::move(entry)) : std::nullopt;
  entry.kind = *kind == "d" ? Kind::directory : Kind::link;
  if (entry.kind == Kind::link && (*kind != "l" || entry.content.empty())) return std::nullopt;
  return entry;
}

Error corrupt() {
  return Error{ErrorCode::corrupt,
               "the manifest of a runner package is damaged; the package is installed again"};
}

}  // namespace

std::int64_t total_bytes(const Manifest& manifest) {
  std::int64_t bytes = 0;
  for (const auto& entry : manifest.entries)
    bytes += entry.size;
  return bytes;
}

std::string encode(const Manifest& manifest) {
  std::string text(kFormat);
  text += " " + manifest.digest.str() + " " + escape(manifest.version) + " " + escape(manifest.os) + " " +
          escape(manifest.architecture) + " " + escape(manifest.source) + "\n";
  for (const auto& entry : manifest.entries) {
    text += entry.kind == Kind::directory ? "d " : entry.kind == Kind::file ? "f " : "l ";
    text += octal(entry.mode) + " " + std::to_string(entry.size) + " " + escape(entry.content) + " " +
            escape(entry.path) + "\n";
  }
  text += "end " + std::to_string(manifest.entries.size()) + "\n";
  return text;
}

Result<Manifest> decode(std::string_view text, std::int64_t max_entries) {
  auto header = take(text, '\n');
  if (!header || !header->starts_with(kFormat) || header->size() <= kFormat.size()) return corrupt();
  header->remove_prefix(kFormat.size() + 1);
  Manifest manifest;
  const auto digest = take(*header, ' ');
  if (!digest || !is_digest(*digest)) return corrupt();
  manifest.digest = PackageDigest(std::string(*digest));
  for (auto* field : {&manifest.version, &manifest.os, &manifest.architecture}) {
    const auto part = take(*header, ' ');
    auto value = part ? unescape(*part) : std::nullopt;
    if (!value) return corrupt();
    *field = std::move(*value);
  }
  auto source = unescape(*header);
  if (!source) return corrupt();
  manifest.source = std::move(*source);
  while (const auto line = take(text, '\n')) {
    if (line->starts_with("end ")) {
      const auto count = number<std::size_t>(line->substr(4), 10);
      if (count != manifest.entries.size() || !text.empty()) return corrupt();
      return manifest;
    }
    auto entry = parse_entry(*line);
    const bool sorted = entry && (manifest.entries.empty() || manifest.entries.back().path < entry->path);
    if (!sorted || static_cast<std::int64_t>(manifest.entries.size()) >= max_entries) return corrupt();
    manifest.entries.push_back(std::move(*entry));
  }
  return corrupt();
}

}  // namespace agent::package
