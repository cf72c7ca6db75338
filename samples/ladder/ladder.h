/* What the small C samples share: a failed call ends the program with the library's own words. */
#ifndef MILLRACE_LADDER_H
#define MILLRACE_LADDER_H

#include <millrace/millrace.h>
#include <stdio.h>
#include <stdlib.h>

static void check(mr_status status, const mr_error* error) {
  if (status == MR_OK) return;
  fprintf(stderr, "%s: %s\n", mr_status_name(status), error->text);
  exit(1);
}

#endif
