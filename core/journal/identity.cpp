#include <utility>

#include "journal/setup.hpp"

namespace agent::journal {

using domain::Error;
using domain::ErrorCode;
using domain::Result;
using sqlite::Database;

namespace {

Result<void> write(Database& database, const std::string& sql, const std::string& first,
                   const std::string& second) {
  auto transaction = sqlite::Transaction::begin(database);
  if (!transaction) return transaction.error();
  {
    auto statement = database.prepare(sql);
    if (!statement) return statement.error();
    if (auto done = statement->bind(first).bind(second).run(); !done) return done;
  }
  return transaction->commit();
}

Result<std::string> mint_identity(Database& database, const OpenOptions& options) {
  if (options.installation.empty() || options.machine.empty()) {
    return Error{ErrorCode::internal, "a new journal needs an installation id and a machine id.", {}};
  }
  auto written = write(database, "INSERT INTO meta (one, installation, machine) VALUES (1, ?1, ?2)",
                       options.installation, options.machine);
  if (!written) return written.error();
  return options.installation;
}

}  // namespace

Result<std::string> check_identity(Database& database, const OpenOptions& options, bool mint) {
  std::string installation;
  std::string machine;
  {
    auto statement = database.prepare("SELECT installation, machine FROM meta");
    if (!statement) return statement.error();
    auto row = statement->step();
    if (!row) return row.error();
    if (!*row && mint) return mint_identity(database, options);
    if (!*row) {
      return Error{
          ErrorCode::corrupt,
          "journal " + database.path() + " has lost its installation id. " + sqlite::way_out(database.path()),
          {}};
    }
    installation = statement->text(0);
    machine = statement->text(1);
  }
  if (machine == options.machine || (options.read_only && options.machine.empty())) return installation;
  if (!options.adopt_machine || options.read_only || options.machine.empty()) {
    return Error{
        ErrorCode::denied,
        "journal " + database.path() +
            " was written on another machine, and what it owns there may still run. If this machine takes "
            "its place, run: runner-manager adopt-installation",
        {}};
  }
  auto adopted =
      write(database, "UPDATE meta SET machine = ?1 WHERE installation = ?2", options.machine, installation);
  if (!adopted) return adopted.error();
  return installation;
}

}  // namespace agent::journal
