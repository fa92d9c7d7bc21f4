/* What an operator can choose for this provider, and the schema that says so. */
#ifndef TEMPLATE_SETTINGS_H
#define TEMPLATE_SETTINGS_H

#include "rmgr/abi/base.h"

#define MOST_SEARCH_PATH 1024

typedef struct settings {
  char search_path[MOST_SEARCH_PATH + 1];
  int nice;
} settings;

extern const char settings_schema[];

/* Reads what the schema admits: one flat object whose texts need no escapes. A plugin with a richer
 * configuration brings a JSON library of its own. Null, or what is wrong. */
const char* settings_parse(rmgr_str json, settings* out);

#endif
