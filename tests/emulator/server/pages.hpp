// Paging as GitHub does it: ?per_page (30, at most 100) and ?page, a Link header with next, prev, first and
// last.
#pragma once

#include <cstddef>
#include <string>

#include "server/exchange.hpp"

namespace emulator {

struct Page {
  std::size_t first = 0;  // of the items
  std::size_t last = 0;   // one past
  std::string link;       // empty when everything fits on one page
};

// `base_url` is the server's own address; the request's other parameters are kept in the links.
Page cut_page(const Request& request, std::size_t total, const std::string& base_url);

}  // namespace emulator
