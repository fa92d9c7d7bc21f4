#include "server/pages.hpp"

#include <algorithm>
#include <charconv>

namespace emulator {
namespace {

std::size_t number(const Request& request, std::string_view name, std::size_t otherwise) {
  const auto text = request.query_value(name);
  std::size_t value = 0;
  if (!text) return otherwise;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc{} && end == text->data() + text->size() && value > 0 ? value : otherwise;
}

// Everything but unreserved characters is escaped, a comma stays: parsers of Link must bear one.
std::string escape(std::string_view text) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~,").find(c) != std::string_view::npos;
    if (plain) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(hex[static_cast<unsigned char>(c) >> 4U]);
      out.push_back(hex[static_cast<unsigned char>(c) & 15U]);
    }
  }
  return out;
}

}  // namespace

Page cut_page(const Request& request, std::size_t total, const std::string& base_url) {
  const std::size_t size = std::min<std::size_t>(number(request, "per_page", 30), 100);
  const std::size_t page = number(request, "page", 1);
  const std::size_t pages = std::max<std::size_t>((total + size - 1) / size, 1);
  Page cut;
  cut.first = page > pages ? total : (page - 1) * size;
  cut.last = std::min(total, cut.first + size);
  if (pages == 1) return cut;
  std::string url = base_url + (request.enterprise_prefix ? "/api/v3" : "") + request.path + "?";
  for (const auto& [name, value] : request.query) {
    if (name != "page") url += escape(name) + "=" + escape(value) + "&";
  }
  const auto add = [&](std::size_t number, std::string_view relation) {
    if (!cut.link.empty()) cut.link += ", ";
    cut.link += "<" + url + "page=" + std::to_string(number) + ">; rel=\"" + std::string(relation) + "\"";
  };
  if (page > 1) add(std::min(page - 1, pages), "prev");
  if (page < pages) add(page + 1, "next");
  if (page < pages) add(pages, "last");
  if (page > 1) add(1, "first");
  return cut;
}

}  // namespace emulator
