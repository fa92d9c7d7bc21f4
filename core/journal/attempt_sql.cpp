#include "journal/attempt_sql.hpp"

#include <algorithm>

#include "journal/fields.hpp"
#include "journal/row_io.hpp"
#include "journal/sql_text.hpp"

namespace agent::journal::attempt_sql {

namespace {

std::vector<std::string> birth() {
  ColumnNames names;
  const domain::Attempt sample;
  birth_fields(names, sample);
  return names.names();
}

std::vector<std::string> life() {
  ColumnNames names;
  const domain::Attempt sample;
  life_fields(names, sample);
  return names.names();
}

std::string parameter_of(const std::vector<std::string>& columns, const std::string& name) {
  const auto at = std::find(columns.begin(), columns.end(), name) - columns.begin();
  return "?" + std::to_string(at + 1);
}

std::string make_update() {
  const auto changing = life();
  std::vector<std::string> assignments;
  for (const auto& name : changing)
    assignments.push_back(name + " = " + parameter_of(changing, name));

  std::vector<std::string> fixed{"policy", "definition"};
  for (const auto& name : birth())
    fixed.push_back(name);
  std::vector<std::string> conditions;
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    conditions.push_back(fixed[i] + " IS ?" + std::to_string(changing.size() + i + 1));
  }
  for (const std::string name : kWriteOnce) {
    conditions.push_back("(" + name + " IS NULL OR " + name + " IS " + parameter_of(changing, name) + ")");
  }
  conditions.push_back("(state <> 'cleaned' OR " + parameter_of(changing, "state") + " = 'cleaned')");
  return "UPDATE attempt SET " + joined(assignments) + " WHERE " + joined(conditions, " AND ");
}

std::string make_insert() {
  std::vector<std::string> columns{"policy", "definition"};
  for (const auto& name : birth())
    columns.push_back(name);
  for (const auto& name : life())
    columns.push_back(name);
  return "INSERT INTO attempt (" + joined(columns) + ") VALUES (" + parameters(columns.size()) + ")";
}

}  // namespace

const std::string& insert() {
  static const std::string text = make_insert();
  return text;
}

const std::string& update() {
  static const std::string text = make_update();
  return text;
}

const std::string& select() {
  static const std::string text =
      "SELECT definition, " + joined(birth()) + ", " + joined(life()) + " FROM attempt ";
  return text;
}

}  // namespace agent::journal::attempt_sql
