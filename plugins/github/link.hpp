// The Link header of paged answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plugins::github {

struct Link {
  std::string url;
  std::vector<std::string> rels;  // lower-case
};

// Nothing if the text is malformed: a page that is lost in silence would look like a shorter list.
std::optional<std::vector<Link>> parse_links(std::string_view header);

}  // namespace plugins::github
