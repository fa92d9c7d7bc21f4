#include "settings.h"

#include <string.h>

const char settings_schema[] =
    "{\"type\": \"object\", \"properties\": {"
    "\"search_path\": {\"type\": \"string\","
    " \"description\": \"PATH of the jobs: absolute directories with colons between them\","
    " \"pattern\": \"^/[A-Za-z0-9._/:+-]*$\", \"maxLength\": 1024, \"default\": "
    "\"/usr/local/bin:/usr/bin:/bin\"},"
    "\"nice\": {\"type\": \"integer\","
    " \"description\": \"how much jobs step back behind everything else on this machine\","
    " \"minimum\": 0, \"maximum\": 19, \"default\": 0}}}";

static const char malformed[] =
    "The configuration of the template provider is not the object that its schema names.";

typedef struct reader {
  const char* at;
  const char* end;
} reader;

static void skip(reader* in) {
  while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\r' || *in->at == '\n'))
    ++in->at;
}

static int take(reader* in, char wanted) {
  skip(in);
  if (in->at == in->end || *in->at != wanted) return 0;
  ++in->at;
  return 1;
}

static int take_text(reader* in, char* out, size_t most) {
  size_t size = 0;
  if (!take(in, '"')) return 0;
  for (; in->at < in->end && *in->at != '"'; ++in->at) {
    if (*in->at == '\\' || size == most) return 0;
    out[size++] = *in->at;
  }
  out[size] = '\0';
  return take(in, '"');
}

static int take_number(reader* in, int* out) {
  const char* first;
  int value = 0;
  skip(in);
  for (first = in->at; in->at < in->end && *in->at >= '0' && *in->at <= '9' && value < 1000; ++in->at)
    value = value * 10 + (*in->at - '0');
  *out = value;
  return in->at != first;
}

static int take_member(reader* in, settings* out) {
  char name[32];
  if (!take_text(in, name, sizeof name - 1) || !take(in, ':')) return 0;
  if (strcmp(name, "search_path") == 0) return take_text(in, out->search_path, MOST_SEARCH_PATH);
  if (strcmp(name, "nice") == 0) return take_number(in, &out->nice) && out->nice <= 19;
  return 0;
}

const char* settings_parse(rmgr_str json, settings* out) {
  reader in;
  in.at = json.data;
  in.end = json.size == 0 ? json.data : json.data + json.size;
  strcpy(out->search_path, "/usr/local/bin:/usr/bin:/bin");
  out->nice = 0;
  if (!take(&in, '{')) return malformed;
  if (!take(&in, '}')) {
    do {
      if (!take_member(&in, out)) return malformed;
    } while (take(&in, ','));
    if (!take(&in, '}')) return malformed;
  }
  skip(&in);
  return in.at == in.end ? NULL : malformed;
}
