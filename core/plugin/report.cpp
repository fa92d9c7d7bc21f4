#include "plugin/report.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "plugin/text.hpp"

namespace agent::plugin {
namespace {

constexpr std::size_t word_size = 32;
constexpr std::size_t length_size = 8;                          // hex digits
constexpr std::size_t head_size = word_size + 1 + length_size;  // word, kind, length
constexpr std::size_t most_records = 64;
constexpr std::size_t most_sentence = 4000;
// Above what programs use, below the usual limit.
constexpr std::array out_of_the_way{768, 200, 64};

constexpr std::string_view digits = "0123456789abcdef";

std::size_t most_of(Record kind) { return kind == Record::schemas ? most_schemas : most_sentence; }

std::optional<Record> kind_of(char letter) {
  for (const Record kind : {Record::stage, Record::schemas, Record::refusal, Record::done}) {
    if (letter == static_cast<char>(kind)) return kind;
  }
  return std::nullopt;
}

// All of it or false.
bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string receive_word(int socket) {
  std::string word(word_size, '\0');
  std::size_t received = 0;
  while (received < word.size()) {
    const ssize_t got = ::recv(socket, word.data() + received, word.size() - received, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    received += static_cast<std::size_t>(got);
  }
  return word;
}

int move_away(int descriptor) {
  for (const int least : out_of_the_way) {
    const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, least);
    if (moved < 0) continue;
    ::close(descriptor);
    return moved;
  }
  return -1;
}

}  // namespace

std::string draw_word() {
  std::array<unsigned char, word_size / 2> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string word;
  for (const unsigned char byte : bytes) {
    word += digits[byte >> 4U];
    word += digits[byte & 15U];
  }
  return word;
}

std::optional<Reporter> Reporter::take() {
  std::string word = receive_word(report_descriptor);
  if (word.empty()) return std::nullopt;
  const int socket = move_away(report_descriptor);
  if (socket < 0) return std::nullopt;
  return Reporter(socket, std::move(word));
}

bool Reporter::send(Record kind, std::string_view text) const {
  const std::string_view fits = text.substr(0, most_of(kind));
  std::string record = word_;
  record += static_cast<char>(kind);
  for (std::size_t digit = length_size; digit > 0; --digit)
    record += digits[(fits.size() >> (4U * (digit - 1))) & 15U];
  record += fits;
  return send_all(socket_, record);
}

void ReportReader::take(std::string_view bytes) {
  if (damaged_) return;
  pending_ += bytes;
  while (!damaged_ && take_record()) {
  }
}

// Takes one whole record from what is pending; false if there is none.
bool ReportReader::take_record() {
  const std::string_view pending(pending_);
  const std::string_view word = pending.substr(0, word_size);
  damaged_ = !std::string_view(word_).starts_with(word);
  if (damaged_ || pending.size() < head_size) return false;
  const auto kind = kind_of(pending[word_size]);
  std::size_t length = 0;
  const char* const from = pending_.data() + word_size + 1;
  const auto read = std::from_chars(from, from + length_size, length, 16);
  damaged_ = done_ || !kind || read.ec != std::errc() || read.ptr != from + length_size ||
             length > most_of(*kind) || records_ == most_records;
  if (damaged_ || pending.size() - head_size < length) return false;
  keep(*kind, pending_.substr(head_size, length));
  pending_.erase(0, head_size + length);
  ++records_;
  return true;
}

void ReportReader::keep(Record kind, std::string text) {
  switch (kind) {
    case Record::stage: stage_ = one_line(text, 100); break;
    case Record::refusal: refusal_ = one_line(text, 1000); break;
    case Record::schemas: schemas_ = std::move(text); break;
    case Record::done: done_ = true; break;
  }
}

}  // namespace agent::plugin
