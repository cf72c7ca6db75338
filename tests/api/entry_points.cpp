#include "api/entry_parts.h"

namespace test {
namespace {

mr_tensor buffer_view(const Scene& scene) {
  return op_calls::tensor(mr_buffer_data(scene.handles.buffer()), MR_F32, {4});
}

void add_plain(std::vector<EntryPoint>& all) {
  all.push_back({"version",
                 {},
                 [](Scene&, const Handles&, mr_error*) {
                   (void)mr_version();
                   return MR_OK;
                 },
                 {},
                 false});
  all.push_back({"abi_version",
                 {},
                 [](Scene&, const Handles&, mr_error*) {
                   (void)mr_abi_version();
                   return MR_OK;
                 },
                 {},
                 false});
  all.push_back({"status_name",
                 {},
                 [](Scene&, const Handles&, mr_error*) {
                   (void)mr_status_name(MR_INTERNAL);
                   return MR_OK;
                 },
                 {},
                 false});
  all.push_back({"status_text",
                 {},
                 [](Scene&, const Handles&, mr_error*) {
                   (void)mr_status_text(MR_INTERNAL);
                   return MR_OK;
                 },
                 {},
                 false});
  all.push_back({"tensor_pack", {}, [](Scene&, const Handles&, mr_error* e) {
                   mr_tensor out = MR_TENSOR_INIT;
                   const int64_t shape = 4;
                   return mr_tensor_pack(nullptr, MR_F32, 1, &shape, &out, e);
                 }});
  all.push_back({"tensor_from_dlpack", {}, [](Scene& s, const Handles&, mr_error* e) {
                   mr_tensor out = MR_TENSOR_INIT;
                   return mr_tensor_from_dlpack(&s.produced.managed.dl_tensor, 0, &out, nullptr,
                                                nullptr, e);
                 }});
  all.push_back({"tensor_import_dlpack", {}, [](Scene& s, const Handles&, mr_error* e) {
                   mr_tensor out = MR_TENSOR_INIT;
                   return mr_tensor_import_dlpack(&s.produced.managed, &out, nullptr, nullptr, e);
                 }});
  all.push_back({"dlpack_release",
                 {},
                 [](Scene& s, const Handles&, mr_error*) {
                   mr_dlpack_release(&s.produced.managed);
                   return MR_OK;
                 },
                 {},
                 false});
  all.push_back({"tensor_to_dlpack", {}, [](Scene& s, const Handles&, mr_error* e) {
                   DLTensor out = {};
                   int64_t shape[MR_MAX_RANK], strides[MR_MAX_RANK];
                   const mr_tensor view = buffer_view(s);
                   return mr_tensor_to_dlpack(&view, 1, 0, &out, shape, strides, e);
                 }});
  all.push_back(
      {"tensor_export_dlpack", {{kBuffer, "buffer"}}, [](Scene& s, const Handles& h, mr_error* e) {
         const mr_tensor view = buffer_view(s);
         return mr_tensor_export_dlpack(&view, h.buffer(), &s.made_export, e);
       }});
  all.push_back({"probe", {}, [](Scene&, const Handles&, mr_error* e) {
                   mr_probe_info out = MR_PROBE_INFO_INIT;
                   return mr_probe(&out, e);
                 }});
  all.push_back({"device_query", {}, [](Scene&, const Handles&, mr_error* e) {
                   mr_device_info out = MR_DEVICE_INFO_INIT;
                   return mr_device_query(0, &out, e);
                 }});
  all.push_back({"dependency", {}, [](Scene&, const Handles&, mr_error* e) {
                   char text[256];
                   const mr_status status = mr_dependency("blas", text, sizeof text, nullptr, e);
                   if (status != MR_DEPENDENCY_MISSING) return status;
                   if (e != nullptr) *e = {};  // the machine need not have one
                   return MR_OK;
                 }});
}

}  // namespace

std::vector<EntryPoint> entry_points() {
  std::vector<EntryPoint> all;
  add_plain(all);
  add_memory(all);
  add_context(all);
  add_stream(all);
  add_event(all);
  add_graph(all);
  add_ring(all);
  add_operators(all);
  add_plan(all);
  add_sampling(all);
  all.push_back({"abi_layout", {}, [](Scene&, const Handles&, mr_error* e) {
                   return mr_abi_layout(0, nullptr, nullptr, nullptr, nullptr, e);
                 }});
  add_blocks(all);
  return all;
}

}  // namespace test
