#include "package/download.hpp"

#include <unistd.h>

#include <cerrno>

#include "crash_point.hpp"
#include "package/digest.hpp"
#include "package/files.hpp"

namespace agent::package {

using domain::Error;
using domain::ErrorCode;

namespace {

constexpr int kMaximumResumes = 3;
constexpr std::size_t kMaximumValidator = 4096;

class FileReceiver final : public Source::Receiver {
 public:
  FileReceiver(const Choice& choice, int target, std::int64_t max_bytes, const Cancelled& cancelled)
      : choice_(choice), target_(target), max_bytes_(max_bytes), cancelled_(cancelled) {}

  // Where the next fetch goes on. Without a validator nothing proves that the file is still the same.
  Result<std::int64_t> resume() {
    began_ = false;
    if (validator_.empty() || received_ > max_bytes_) {
      auto cleared = restart();
      if (!cleared) return cleared.error();
    }
    offset_ = received_;
    return received_;
  }

  Result<void> begin(std::int64_t total, std::string_view validator, bool restarted) override {
    if (began_) return fail(ErrorCode::bad_response, "the package source began twice");
    began_ = true;
    if (restarted && offset_ > 0) {
      auto cleared = restart();
      if (!cleared) return fail(cleared.error());
    } else if (offset_ > 0 && validator != validator_) {
      validator_.clear();
      return fail(ErrorCode::bad_response, "the package changed at its source while it was downloaded");
    }
    if (total > max_bytes_) return too_large();
    if (total >= 0 && choice_.offer.size >= 0 && total != choice_.offer.size) {
      return fail(ErrorCode::bad_response, "the package source announced another size than its catalog says");
    }
    total_ = total >= 0 ? total : choice_.offer.size;
    validator_ = validator.size() <= kMaximumValidator ? std::string(validator) : std::string();
    return {};
  }

  Result<void> chunk(std::string_view bytes) override {
    if (asked(cancelled_)) return fail(cancelled_error());
    if (!began_) return fail(ErrorCode::bad_response, "the package source sent bytes before it began");
    const auto size = static_cast<std::int64_t>(bytes.size());
    if (size > max_bytes_ - received_) return too_large();
    if (total_ >= 0 && received_ + size > total_) {
      validator_.clear();
      return fail(ErrorCode::bad_response, "the package source sent more bytes than it announced");
    }
    const int error = write_all(target_, bytes.data(), bytes.size());
    if (error != 0) return fail(system_error("cannot write to the package cache", error));
    RMGR_CRASH_POINT("package.download.chunk");
    hash_.update(bytes);
    received_ += size;
    return {};
  }

  // What this end found, which counts more than how the source passed it on.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  void forget_failure() { failure_.reset(); }
  [[nodiscard]] bool complete() const { return began_ && (total_ < 0 || received_ == total_); }
  [[nodiscard]] const std::string& validator() const { return validator_; }
  [[nodiscard]] std::int64_t received() const { return received_; }
  std::string digest() { return hash_.finish(); }

 private:
  Result<void> restart() {
    if (::ftruncate(target_, 0) != 0 || ::lseek(target_, 0, SEEK_SET) != 0) {
      return system_error("cannot write to the package cache", errno);
    }
    hash_.reset();
    received_ = 0;
    validator_.clear();
    return {};
  }
  Result<void> fail(Error error) {
    failure_ = std::move(error);
    return *failure_;
  }
  Result<void> fail(ErrorCode code, std::string message) { return fail(Error{code, std::move(message)}); }
  Result<void> too_large() {
    return fail(ErrorCode::invalid, "the runner package is larger than " + std::to_string(max_bytes_) +
                                        " bytes and was not installed");
  }

  const Choice& choice_;
  int target_;
  std::int64_t max_bytes_;
  const Cancelled& cancelled_;
  Sha256 hash_;
  std::string validator_;
  std::int64_t total_ = -1, received_ = 0, offset_ = 0;
  bool began_ = false;
  std::optional<Error> failure_;
};

// Failures after which the rest may still come.
bool breaks_half_way(ErrorCode code) {
  return code == ErrorCode::retry || code == ErrorCode::unreachable || code == ErrorCode::deadline ||
         code == ErrorCode::bad_response;
}

// Failures that mean that the offer is not good any more, for example an address that expired.
bool is_stale(ErrorCode code) {
  return code == ErrorCode::not_found || code == ErrorCode::denied || code == ErrorCode::unauthorized ||
         code == ErrorCode::invalid;
}

}  // namespace

Error softened(const Error& error) {
  auto soft = error;
  if (soft.code == ErrorCode::denied || soft.code == ErrorCode::invalid ||
      soft.code == ErrorCode::not_found || soft.code == ErrorCode::unsupported) {
    soft.code = ErrorCode::retry;
  }
  return soft;
}

std::optional<DownloadError> download(Source& source, const Choice& choice, int target,
                                      std::int64_t max_bytes, const Cancelled& cancelled) {
  FileReceiver receiver(choice, target, max_bytes, cancelled);
  for (int resumes = 0;; ++resumes) {
    const auto offset = receiver.resume();
    if (!offset) return DownloadError{offset.error()};
    const auto fetched = source.fetch(choice.offer.ref, *offset, receiver.validator(), receiver);
    if (asked(cancelled)) return DownloadError{cancelled_error()};
    if (fetched && !receiver.failure() && receiver.complete()) break;
    Error error = receiver.failure() ? *receiver.failure()
                  : !fetched.ok()    ? fetched.error()
                                     : Error{ErrorCode::retry, "the runner package arrived incomplete"};
    const bool ours = receiver.failure().has_value();
    if (!breaks_half_way(error.code) || receiver.received() == 0 || resumes >= kMaximumResumes) {
      if (ours) return DownloadError{error};
      return DownloadError{softened(error), is_stale(error.code)};
    }
    receiver.forget_failure();
  }
  if (receiver.digest() != choice.digest.str()) {
    return DownloadError{
        Error{ErrorCode::retry, "runner package " + choice.offer.version +
                                    " was downloaded with another SHA-256 digest than it must "
                                    "have; it was thrown away"},
        true};
  }
  return std::nullopt;
}

}  // namespace agent::package
