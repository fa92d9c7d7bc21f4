#include "domain/result.hpp"

namespace agent::domain {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid: return "invalid";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::exists: return "exists";
    case ErrorCode::retry: return "retry";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::deadline: return "deadline";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::denied: return "denied";
    case ErrorCode::unauthorized: return "unauthorized";
    case ErrorCode::unreachable: return "unreachable";
    case ErrorCode::bad_response: return "bad_response";
    case ErrorCode::busy: return "busy";
    case ErrorCode::full: return "full";
    case ErrorCode::corrupt: return "corrupt";
    case ErrorCode::internal: return "internal";
  }
  return "internal";
}

}  // namespace agent::domain
