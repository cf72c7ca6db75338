/* Compiles the loader into the Go package, so that a Go program links no libmillrace. */
#include "../loader/millrace_loader.c"
