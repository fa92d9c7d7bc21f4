#include "support/engine/tls.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>

namespace plugins::engine {
namespace {

using rmgr::Error;
using rmgr::Status;

template <class T, void (*free)(T*)>
struct Freer {
  void operator()(T* object) const { free(object); }
};
void free_bio(BIO* bio) { BIO_free_all(bio); }
using Context = std::unique_ptr<SSL_CTX, Freer<SSL_CTX, &SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Freer<SSL, &SSL_free>>;
using Bio = std::unique_ptr<BIO, Freer<BIO, &free_bio>>;
using Certificate = std::unique_ptr<X509, Freer<X509, &X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, &EVP_PKEY_free>>;

Error unusable(const std::string& what) {
  ERR_clear_error();
  return {Status::invalid,
          "The " + what + " for the container engine cannot be used; check the PEM files of tls."};
}

Bio over(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

void trust(SSL_CTX* context, const std::string& ca) {
  const Bio bio = over(ca);
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  int count = 0;
  while (const Certificate one{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    if (X509_STORE_add_cert(store, one.get()) != 1) throw unusable("authority's certificate");
    ++count;
  }
  ERR_clear_error();
  if (count == 0) throw unusable("authority's certificate");
}

void introduce(SSL_CTX* context, const Tls& tls) {
  const Bio bio = over(tls.certificate);
  const Certificate own{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)};
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) throw unusable("client's certificate");
  while (X509* const issuer = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    if (SSL_CTX_add_extra_chain_cert(context, issuer) != 1) {
      X509_free(issuer);
      throw unusable("client's certificate");
    }
  }
  ERR_clear_error();
  const Bio secret = over(tls.key);
  const Key key{PEM_read_bio_PrivateKey(secret.get(), nullptr, nullptr, nullptr)};
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1) throw unusable("client's key");
}

class TlsStream final : public Stream {
 public:
  TlsStream(std::unique_ptr<Stream> lower, const Tls& tls, const std::string& host)
      : lower_(std::move(lower)), context_(SSL_CTX_new(TLS_client_method())) {
    if (!context_) throw Error(Status::retry, "There is no memory for TLS.");
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    trust(context_.get(), tls.ca);
    if (!tls.certificate.empty()) introduce(context_.get(), tls);
    session_.reset(SSL_new(context_.get()));
    if (!session_) throw Error(Status::retry, "There is no memory for TLS.");
    X509_VERIFY_PARAM* const expected = SSL_get0_param(session_.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) != 1) {
      X509_VERIFY_PARAM_set1_host(expected, host.c_str(), host.size());
      SSL_set_tlsext_host_name(session_.get(), host.c_str());
    }
    ERR_clear_error();
    // Both belong to the session from here on.
    incoming_ = BIO_new(BIO_s_mem());
    outgoing_ = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(incoming_, -1);
    SSL_set_bio(session_.get(), incoming_, outgoing_);
    SSL_set_connect_state(session_.get());
  }

  void shake_hands(const Waiter& waiter) {
    while (true) {
      const int done = SSL_do_handshake(session_.get());
      const int reason = SSL_get_error(session_.get(), done);
      flush(waiter);
      if (done == 1) return;
      if (reason != SSL_ERROR_WANT_READ || !fill(waiter)) throw refused();
    }
  }

  std::size_t read_some(std::span<char> into, const Waiter& waiter) override {
    while (true) {
      const int count = SSL_read(session_.get(), into.data(), static_cast<int>(into.size()));
      if (count > 0) return static_cast<std::size_t>(count);
      const int reason = SSL_get_error(session_.get(), count);
      flush(waiter);
      if (reason == SSL_ERROR_ZERO_RETURN) return 0;
      if (reason != SSL_ERROR_WANT_READ || !fill(waiter)) throw refused();
    }
  }

  void write_all(std::string_view bytes, const Waiter& waiter) override {
    constexpr std::size_t most = std::size_t{16} << 10;
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, most);
      if (SSL_write(session_.get(), part.data(), static_cast<int>(part.size())) <= 0) throw refused();
      flush(waiter);
      bytes.remove_prefix(part.size());
    }
  }

  void finish_writing(const Waiter& waiter) override {
    SSL_shutdown(session_.get());
    flush(waiter);
  }

 private:
  Error refused() const {
    const long verdict = SSL_get_verify_result(session_.get());
    ERR_clear_error();
    if (verdict != X509_V_OK) {
      return {Status::denied, std::string("The container engine's certificate is not trusted (") +
                                  X509_verify_cert_error_string(verdict) + "); check tls.ca and host."};
    }
    return {Status::unreachable,
            "The TLS connection to the container engine broke; check that it wants TLS and accepts our "
            "certificate."};
  }

  void flush(const Waiter& waiter) {
    std::array<char, 4096> buffer{};
    int count = 0;
    while ((count = BIO_read(outgoing_, buffer.data(), static_cast<int>(buffer.size()))) > 0)
      lower_->write_all({buffer.data(), static_cast<std::size_t>(count)}, waiter);
  }

  // False at the end of the connection, which nobody announced.
  bool fill(const Waiter& waiter) {
    std::array<char, 16384> buffer{};
    const std::size_t count = lower_->read_some(buffer, waiter);
    if (count == 0) return false;
    return BIO_write(incoming_, buffer.data(), static_cast<int>(count)) == static_cast<int>(count);
  }

  std::unique_ptr<Stream> lower_;
  Context context_;
  Session session_;
  BIO* incoming_ = nullptr;  // the session's own
  BIO* outgoing_ = nullptr;
};

}  // namespace

std::unique_ptr<Stream> open_tls(std::unique_ptr<Stream> lower, const Tls& tls, const std::string& host,
                                 const Waiter& waiter) {
  auto stream = std::make_unique<TlsStream>(std::move(lower), tls, host);
  stream->shake_hands(waiter);
  return stream;
}

}  // namespace plugins::engine
