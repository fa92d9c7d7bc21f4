#include "support/engine/access.hpp"

#include <fstream>

namespace plugins::engine {
namespace {

using rmgr::Error;
using rmgr::Status;

constexpr std::size_t most_pem = std::size_t{256} << 10;

std::string read_pem(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most_pem + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.empty() || text.size() > most_pem)
    throw Error(Status::invalid, "The file " + path + " of tls cannot be read or is too large; correct it.");
  return text;
}

}  // namespace

std::shared_ptr<Client> client_at(rmgr::Host host, const Address& address,
                                  const std::optional<TlsFiles>& files) {
  Options options{address, std::nullopt};
  if (files) {
    Tls tls;
    tls.ca = read_pem(files->ca);
    if (!files->certificate.empty()) {
      tls.certificate = read_pem(files->certificate);
      host.secrets().with_secret(files->key, [&](rmgr::SecretView key) { tls.key = key.reveal(); });
    }
    options.tls = std::move(tls);
  }
  return std::make_shared<Client>(std::move(options));
}

}  // namespace plugins::engine
