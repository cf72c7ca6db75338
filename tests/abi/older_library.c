/* A library that the loader must live with: an older one, whose table ends after the first few
 * slots. With OTHER_MAJOR it refuses every range, like a library of another ABI major. */
#include <millrace/millrace.h>
#include <string.h>

#ifdef OTHER_MAJOR

mr_status mr_get_api(uint32_t major_min, uint32_t major_max, uint32_t minor_min, const mr_api** out,
                     mr_error* err) {
  (void)major_min, (void)major_max, (void)minor_min, (void)out;
  if (err != NULL) {
    memset(err, 0, sizeof *err);
    err->code = MR_VERSION_MISMATCH;
    strcpy(err->text, "the library has 41.0");
  }
  return MR_VERSION_MISMATCH;
}

#else

static uint32_t old_version(void) { return 7; }
static uint32_t old_abi_version(void) { return MR_ABI_MAJOR * 65536u; }
static const char* old_status_name(mr_status status) { return status == MR_OK ? "MR_OK" : "older"; }

static mr_api table;

mr_status mr_get_api(uint32_t major_min, uint32_t major_max, uint32_t minor_min, const mr_api** out,
                     mr_error* err) {
  (void)major_min, (void)major_max, (void)minor_min, (void)err;
  /* What lies behind struct_size is not the library's: a host that reads it gets a bad address. */
  memset(&table, 0x5A, sizeof table);
  table.struct_size = (uint32_t)offsetof(mr_api, status_text);
  table.abi_major = MR_ABI_MAJOR;
  table.abi_minor = MR_ABI_MINOR;
  table.version = old_version;
  table.abi_version = old_abi_version;
  table.status_name = old_status_name;
  *out = &table;
  return MR_OK;
}

#endif
