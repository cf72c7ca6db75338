"""Written by bindings/generate.py from include/millrace; edit the headers instead."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int8
from ctypes import c_int32, c_int64, c_uint8, c_uint32, c_uint64, c_void_p

MR_VERSION_MAJOR = 0
MR_VERSION_MINOR = 1
MR_VERSION_PATCH = 0
MR_ABI_MAJOR = 0
MR_ABI_MINOR = 1
MR_OK = 0
MR_INVALID_ARGUMENT = 10
MR_UNSUPPORTED = 11
MR_MISALIGNED = 12
MR_WORKSPACE_TOO_SMALL = 13
MR_NOT_PREPARED = 14
MR_CAPTURE_VIOLATION = 15
MR_VERSION_MISMATCH = 16
MR_NOT_READY = 17
MR_OUT_OF_HOST_MEMORY = 20
MR_OUT_OF_DEVICE_MEMORY = 21
MR_NO_DRIVER = 30
MR_DRIVER_TOO_OLD = 31
MR_NO_DEVICE = 32
MR_NO_KERNEL_IMAGE = 33
MR_DEPENDENCY_MISSING = 34
MR_DEVICE_ERROR = 40
MR_DEVICE_LOST = 41
MR_FORKED = 50
MR_INTERNAL = 90
MR_DOMAIN_MILLRACE = 0
MR_DOMAIN_CUDA = 1
MR_DOMAIN_CUBLASLT = 2
MR_DOMAIN_CUDNN = 3
MR_DOMAIN_SYSTEM = 4
MR_ERROR_CONTEXT_LOST = 1
MR_ERROR_RETRY = 2
MR_ABSENT = 0
MR_I8 = 67584
MR_I32 = 73728
MR_I64 = 81920
MR_U8 = 67585
MR_U32 = 73729
MR_U64 = 81921
MR_F16 = 69634
MR_F32 = 73730
MR_F64 = 81922
MR_BF16 = 69636
MR_MAX_RANK = 6
MR_TENSOR_READ_ONLY = 1
MR_TENSOR_IS_COPIED = 2
MR_TENSOR_SUBBYTE_PADDED = 4
MR_BACKEND_AUTO = 0
MR_BACKEND_HOST = 1
MR_BACKEND_CUDA = 2
MR_MEMORY_DEVICE = 0
MR_MEMORY_PINNED = 1
MR_TAG_OTHER = 0
MR_TAG_WEIGHTS = 1
MR_TAG_KV = 2
MR_TAG_ACTIVATIONS = 3
MR_TAG_WORKSPACE = 4
MR_TAG_COUNT = 5
MR_MEMORY_LOCK_PER_STREAM = 1
MR_MEMORY_PEAKS_ARE_BOUNDS = 1
MR_BLOCK_FREE = 0
MR_BLOCK_ALLOCATED = 1
MR_BLOCK_PENDING = 2
MR_LOG_ERROR = 1
MR_LOG_WARNING = 2
MR_LOG_INFO = 3
MR_LOG_DEBUG = 4
MR_STREAM_ALLOW_DEFAULT = 1
MR_COPY_ON_DEVICE = 0
MR_COPY_TO_DEVICE = 1
MR_COPY_TO_HOST = 2
MR_EVENT_TIMING = 1
MR_EVENT_EXTERNAL = 1
MR_ROW_HAD_NAN = 1
MR_ROW_ALL_MASKED = 2
MR_ROW_EXHAUSTED = 4
MR_ROW_ID_OUT_OF_RANGE = 8
MR_ACTIVATION_NONE = 0
MR_ACTIVATION_RELU = 1
MR_ACTIVATION_RELU_SQUARED = 2
MR_ACTIVATION_SILU = 3
MR_ACTIVATION_GELU_TANH = 4
MR_ACTIVATION_GELU_ERF = 5
MR_EMBEDDING_SCALE = 1
MR_RMSNORM_WEIGHT_PLUS_ONE = 1
MR_RMSNORM_ROUND_BEFORE_WEIGHT = 2
MR_ROPE_NEOX = 0
MR_ROPE_GPTJ = 1
MR_ROPE_SCALING_NONE = 0
MR_ROPE_SCALING_LINEAR = 1
MR_ROPE_SCALING_NTK = 2
MR_ROPE_SCALING_YARN = 3
MR_ROPE_SCALING_LLAMA3 = 4
MR_QKV_POST_ROPE = 1
MR_QKV_POST_WEIGHT_PLUS_ONE = 2
MR_ATTENTION_CAUSAL = 1
MR_ATTENTION_WINDOW = 2
MR_MATMUL_ADD_C = 1

mr_allocate_fn = CFUNCTYPE(c_void_p, c_void_p, c_uint64, c_uint64, c_uint32, c_int32, c_void_p)
mr_deallocate_fn = CFUNCTYPE(None, c_void_p, c_void_p, c_uint64, c_uint32, c_int32, c_void_p)
mr_memory_visit_fn = CFUNCTYPE(None, c_void_p, c_void_p)
mr_log_fn = CFUNCTYPE(None, c_void_p, c_int32, c_char_p, c_uint64)


class mr_error(Structure):
    _fields_ = [
        ("code", c_int32),
        ("domain", c_uint32),
        ("native_code", c_int32),
        ("flags", c_uint32),
        ("text", c_char * 496),
    ]


class mr_tensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("dtype", c_uint32),
        ("rank", c_int32),
        ("flags", c_uint64),
        ("reserved", c_uint64),
        ("shape", c_int64 * 6),
        ("strides", c_int64 * 6),
    ]

    @classmethod
    def init(cls):
        """MR_TENSOR_INIT"""
        s = cls()
        return s


class mr_probe_info(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("version", c_uint32),
        ("abi_version", c_uint32),
        ("cuda_runtime_version", c_uint32),
        ("cuda_driver_version", c_uint32),
        ("cuda_driver_minimum", c_uint32),
        ("device_count", c_uint32),
        ("cuda_status", c_int32),
        ("reserved", c_uint32),
        ("cuda_architectures", c_char * 128),
        ("build", c_char * 64),
    ]

    @classmethod
    def init(cls):
        """MR_PROBE_INFO_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_device_info(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("backend", c_uint32),
        ("ordinal", c_int32),
        ("architecture", c_int32),
        ("multiprocessors", c_int32),
        ("usable", c_int32),
        ("reserved", c_uint32),
        ("memory_bytes", c_uint64),
        ("l2_bytes", c_uint64),
        ("shared_per_block", c_uint64),
        ("name", c_char * 128),
    ]

    @classmethod
    def init(cls):
        """MR_DEVICE_INFO_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_memory_config(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("backend", c_uint32),
        ("ordinal", c_int32),
        ("limit_bytes", c_uint64),
        ("allocate", mr_allocate_fn),
        ("deallocate", mr_deallocate_fn),
        ("user", c_void_p),
    ]

    @classmethod
    def init(cls):
        """MR_MEMORY_CONFIG_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_counter(Structure):
    _fields_ = [
        ("current", c_uint64),
        ("peak", c_uint64),
        ("total", c_uint64),
    ]


class mr_memory_stats(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("requested", mr_counter),
        ("allocated", mr_counter),
        ("active", mr_counter),
        ("reserved", mr_counter),
        ("inactive", mr_counter),
        ("pinned", mr_counter),
        ("tags", mr_counter * 5),
        ("allocations", c_uint64),
        ("frees", c_uint64),
        ("retries", c_uint64),
        ("out_of_memory", c_uint64),
        ("driver_allocations", c_uint64),
        ("driver_frees", c_uint64),
        ("limit_bytes", c_uint64),
        ("device_free", c_uint64),
        ("device_total", c_uint64),
        ("external", c_uint64),
        ("waits", c_uint64),
        ("taken_over", c_uint64),
        ("largest_free", c_uint64),
        ("graph_bytes", c_uint64),
        ("address_bytes", c_uint64),
    ]

    @classmethod
    def init(cls):
        """MR_MEMORY_STATS_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_memory_block(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("segment_address", c_void_p),
        ("segment_bytes", c_uint64),
        ("address", c_void_p),
        ("bytes", c_uint64),
        ("requested", c_uint64),
        ("stream", c_uint64),
        ("state", c_uint32),
        ("tag", c_uint32),
        ("graphs", c_uint32),
        ("reserved", c_uint32),
    ]

    @classmethod
    def init(cls):
        """MR_MEMORY_BLOCK_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_context_config(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("backend", c_uint32),
        ("ordinal", c_int32),
        ("log", mr_log_fn),
        ("log_user", c_void_p),
        ("log_level", c_int32),
        ("reserved", c_uint32),
        ("options", c_char_p),
        ("memory", c_void_p),
    ]

    @classmethod
    def init(cls):
        """MR_CONTEXT_CONFIG_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_stream_config(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("workspace_bytes", c_uint64),
        ("priority", c_int32),
        ("reserved", c_uint32),
    ]

    @classmethod
    def init(cls):
        """MR_STREAM_CONFIG_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_kernel_info(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("workspace_bytes", c_uint64),
        ("threads_per_block", c_int32),
        ("registers_per_thread", c_int32),
        ("blocks_per_multiprocessor", c_int32),
        ("reserved", c_int32),
        ("shared_bytes_per_block", c_uint64),
        ("limit", c_char * 32),
        ("name", c_char * 64),
        ("refused", c_char * 384),
    ]

    @classmethod
    def init(cls):
        """MR_KERNEL_INFO_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_embedding_args(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("ids", mr_tensor),
        ("table", mr_tensor),
        ("output", mr_tensor),
        ("row_status", mr_tensor),
        ("scale", c_float),
        ("reserved", c_uint32),
    ]

    @classmethod
    def init(cls):
        """MR_EMBEDDING_ARGS_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_rmsnorm_args(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("input", mr_tensor),
        ("residual", mr_tensor),
        ("weight", mr_tensor),
        ("output", mr_tensor),
        ("residual_output", mr_tensor),
        ("epsilon", c_float),
        ("reserved", c_uint32),
    ]

    @classmethod
    def init(cls):
        """MR_RMSNORM_ARGS_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_add_args(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("a", mr_tensor),
        ("b", mr_tensor),
        ("output", mr_tensor),
    ]

    @classmethod
    def init(cls):
        """MR_ADD_ARGS_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_gated_activation_args(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("gate", mr_tensor),
        ("up", mr_tensor),
        ("output", mr_tensor),
        ("activation", c_uint32),
        ("reserved", c_uint32),
    ]

    @classmethod
    def init(cls):
        """MR_GATED_ACTIVATION_ARGS_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_rope_config(Structure):
    _fields_ = [
        ("pairing", c_uint32),
        ("scaling", c_uint32),
        ("rotary_dim", c_int32),
        ("original_max_position", c_int32),
        ("theta", c_float),
        ("factor", c_float),
        ("low_freq_factor", c_float),
        ("high_freq_factor", c_float),
        ("beta_fast", c_float),
        ("beta_slow", c_float),
        ("attention_factor", c_float),
        ("reserved", c_uint32 * 5),
    ]

    @classmethod
    def init(cls):
        """MR_ROPE_CONFIG_INIT"""
        s = cls()
        s.theta = 10000.0
        s.factor = 1.0
        return s


class mr_rope_args(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("input", mr_tensor),
        ("positions", mr_tensor),
        ("output", mr_tensor),
        ("rope", mr_rope_config),
    ]

    @classmethod
    def init(cls):
        """MR_ROPE_ARGS_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        s.rope = mr_rope_config.init()
        return s


class mr_qkv_post_args(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("q", mr_tensor),
        ("k", mr_tensor),
        ("v", mr_tensor),
        ("q_bias", mr_tensor),
        ("k_bias", mr_tensor),
        ("v_bias", mr_tensor),
        ("q_norm", mr_tensor),
        ("k_norm", mr_tensor),
        ("positions", mr_tensor),
        ("slot", mr_tensor),
        ("q_output", mr_tensor),
        ("k_cache", mr_tensor),
        ("v_cache", mr_tensor),
        ("row_status", mr_tensor),
        ("rope", mr_rope_config),
        ("epsilon", c_float),
        ("reserved", c_uint32),
    ]

    @classmethod
    def init(cls):
        """MR_QKV_POST_ARGS_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        s.rope = mr_rope_config.init()
        return s


class mr_attention_args(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("q", mr_tensor),
        ("k", mr_tensor),
        ("v", mr_tensor),
        ("cu_q", mr_tensor),
        ("cu_kv", mr_tensor),
        ("kv_len", mr_tensor),
        ("block_table", mr_tensor),
        ("output", mr_tensor),
        ("lse", mr_tensor),
        ("row_status", mr_tensor),
        ("max_q", c_int64),
        ("max_kv", c_int64),
        ("scale", c_float),
        ("window_left", c_int32),
        ("window_right", c_int32),
        ("reserved", c_uint32),
    ]

    @classmethod
    def init(cls):
        """MR_ATTENTION_ARGS_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_matmul_args(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("x", mr_tensor),
        ("w", mr_tensor),
        ("bias", mr_tensor),
        ("c", mr_tensor),
        ("d", mr_tensor),
        ("alpha", c_float),
        ("beta", c_float),
        ("activation", c_uint32),
        ("reserved", c_uint32),
    ]

    @classmethod
    def init(cls):
        """MR_MATMUL_ARGS_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        s.alpha = 1.0
        return s


class mr_matmul_problem(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("dtype", c_uint32),
        ("d_dtype", c_uint32),
        ("bias_dtype", c_uint32),
        ("activation", c_uint32),
        ("batch", c_int64),
        ("m_max", c_int64),
        ("n", c_int64),
        ("k", c_int64),
    ]

    @classmethod
    def init(cls):
        """MR_MATMUL_PROBLEM_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_matmul_operands(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("x", mr_tensor),
        ("w", mr_tensor),
        ("bias", mr_tensor),
        ("c", mr_tensor),
        ("d", mr_tensor),
        ("alpha", c_float),
        ("beta", c_float),
        ("event", c_void_p),
    ]

    @classmethod
    def init(cls):
        """MR_MATMUL_OPERANDS_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        s.alpha = 1.0
        return s


class mr_argmax_args(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("input", mr_tensor),
        ("output", mr_tensor),
        ("row_status", mr_tensor),
    ]

    @classmethod
    def init(cls):
        """MR_ARGMAX_ARGS_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


class mr_sample_args(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("logits", mr_tensor),
        ("temperature", mr_tensor),
        ("top_k", mr_tensor),
        ("top_p", mr_tensor),
        ("min_p", mr_tensor),
        ("seed", mr_tensor),
        ("rng_offset", mr_tensor),
        ("output", mr_tensor),
        ("row_status", mr_tensor),
    ]

    @classmethod
    def init(cls):
        """MR_SAMPLE_ARGS_INIT"""
        s = cls()
        s.struct_size = ctypes.sizeof(cls)
        return s


# name: (result, arguments, whether it is fallible)
FUNCTIONS = {
    "mr_version": (c_uint32, [], False),
    "mr_abi_version": (c_uint32, [], False),
    "mr_status_name": (c_char_p, [c_int32], False),
    "mr_status_text": (c_char_p, [c_int32], False),
    "mr_tensor_pack": (c_int32,
        [c_void_p, c_uint32, c_int32, POINTER(c_int64), POINTER(mr_tensor),
         POINTER(mr_error)], True),
    "mr_tensor_from_dlpack": (c_int32,
        [c_void_p, c_uint64, POINTER(mr_tensor), POINTER(c_int32), POINTER(c_int32),
         POINTER(mr_error)], True),
    "mr_tensor_import_dlpack": (c_int32,
        [c_void_p, POINTER(mr_tensor), POINTER(c_int32), POINTER(c_int32),
         POINTER(mr_error)], True),
    "mr_dlpack_release": (None, [c_void_p], False),
    "mr_tensor_to_dlpack": (c_int32,
        [POINTER(mr_tensor), c_int32, c_int32, c_void_p, POINTER(c_int64), POINTER(c_int64),
         POINTER(mr_error)], True),
    "mr_tensor_export_dlpack": (c_int32,
        [POINTER(mr_tensor), c_void_p, POINTER(c_void_p), POINTER(mr_error)], True),
    "mr_probe": (c_int32, [POINTER(mr_probe_info), POINTER(mr_error)], True),
    "mr_device_query": (c_int32, [c_uint32, POINTER(mr_device_info), POINTER(mr_error)], True),
    "mr_dependency": (c_int32,
        [c_char_p, c_void_p, c_uint64, POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_memory_create": (c_int32,
        [POINTER(mr_memory_config), POINTER(c_void_p), POINTER(mr_error)], True),
    "mr_memory_retain": (None, [c_void_p], False),
    "mr_memory_release": (None, [c_void_p], False),
    "mr_memory_allocate": (c_int32,
        [c_void_p, c_void_p, c_uint64, c_uint64, c_uint32, POINTER(c_void_p),
         POINTER(mr_error)], True),
    "mr_memory_free": (c_int32, [c_void_p, c_void_p, c_void_p, POINTER(mr_error)], True),
    "mr_memory_use": (c_int32, [c_void_p, c_void_p, c_void_p, POINTER(mr_error)], True),
    "mr_memory_trim": (c_int32, [c_void_p, c_uint64, POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_memory_set_limit": (c_int32, [c_void_p, c_uint64, POINTER(mr_error)], True),
    "mr_memory_get_stats": (c_int32, [c_void_p, POINTER(mr_memory_stats), POINTER(mr_error)], True),
    "mr_memory_reset_peaks": (c_int32, [c_void_p, POINTER(mr_error)], True),
    "mr_buffer_create": (c_int32,
        [c_void_p, c_uint64, c_uint32, c_uint32, POINTER(c_void_p), POINTER(mr_error)], True),
    "mr_buffer_retain": (None, [c_void_p], False),
    "mr_buffer_release": (None, [c_void_p], False),
    "mr_buffer_data": (c_void_p, [c_void_p], False),
    "mr_buffer_bytes": (c_uint64, [c_void_p], False),
    "mr_buffer_use": (c_int32, [c_void_p, c_void_p, POINTER(mr_error)], True),
    "mr_context_create": (c_int32,
        [POINTER(mr_context_config), POINTER(c_void_p), POINTER(mr_error)], True),
    "mr_context_retain": (None, [c_void_p], False),
    "mr_context_release": (None, [c_void_p], False),
    "mr_context_health": (c_int32, [c_void_p, POINTER(mr_error)], True),
    "mr_context_device": (c_int32, [c_void_p, POINTER(mr_device_info), POINTER(mr_error)], True),
    "mr_context_memory": (c_void_p, [c_void_p], False),
    "mr_context_set_option": (c_int32, [c_void_p, c_char_p, c_char_p, POINTER(mr_error)], True),
    "mr_context_get_option": (c_int32,
        [c_void_p, c_char_p, c_void_p, c_uint64, POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_stream_create": (c_int32,
        [c_void_p, POINTER(mr_stream_config), POINTER(c_void_p), POINTER(mr_error)], True),
    "mr_stream_wrap": (c_int32,
        [c_void_p, c_void_p, POINTER(mr_stream_config), POINTER(c_void_p),
         POINTER(mr_error)], True),
    "mr_stream_retain": (None, [c_void_p], False),
    "mr_stream_release": (None, [c_void_p], False),
    "mr_stream_native": (c_void_p, [c_void_p], False),
    "mr_stream_context": (c_void_p, [c_void_p], False),
    "mr_stream_query": (c_int32, [c_void_p, POINTER(mr_error)], True),
    "mr_stream_synchronize": (c_int32, [c_void_p, POINTER(mr_error)], True),
    "mr_stream_set_workspace": (c_int32, [c_void_p, c_void_p, c_uint64, POINTER(mr_error)], True),
    "mr_stream_reserve_capture": (c_int32, [c_void_p, c_uint64, POINTER(mr_error)], True),
    "mr_stream_is_capturing": (c_int32, [c_void_p, POINTER(c_int32), POINTER(mr_error)], True),
    "mr_copy": (c_int32,
        [c_void_p, c_void_p, c_void_p, c_uint64, c_uint32, POINTER(mr_error)], True),
    "mr_fill": (c_int32, [c_void_p, c_void_p, c_uint32, c_uint64, POINTER(mr_error)], True),
    "mr_upload": (c_int32, [c_void_p, c_void_p, c_void_p, c_uint64, POINTER(mr_error)], True),
    "mr_download": (c_int32, [c_void_p, c_void_p, c_void_p, c_uint64, POINTER(mr_error)], True),
    "mr_event_create": (c_int32, [c_void_p, c_uint32, POINTER(c_void_p), POINTER(mr_error)], True),
    "mr_event_wrap": (c_int32, [c_void_p, c_void_p, POINTER(c_void_p), POINTER(mr_error)], True),
    "mr_event_retain": (None, [c_void_p], False),
    "mr_event_release": (None, [c_void_p], False),
    "mr_event_native": (c_void_p, [c_void_p], False),
    "mr_event_record": (c_int32, [c_void_p, c_void_p, c_uint32, POINTER(mr_error)], True),
    "mr_stream_wait_event": (c_int32, [c_void_p, c_void_p, POINTER(mr_error)], True),
    "mr_event_query": (c_int32, [c_void_p, POINTER(mr_error)], True),
    "mr_event_synchronize": (c_int32, [c_void_p, POINTER(mr_error)], True),
    "mr_event_elapsed": (c_int32, [c_void_p, c_void_p, POINTER(c_float), POINTER(mr_error)], True),
    "mr_graph_pool_create": (c_int32,
        [c_void_p, c_uint64, POINTER(c_void_p), POINTER(mr_error)], True),
    "mr_graph_pool_retain": (None, [c_void_p], False),
    "mr_graph_pool_release": (None, [c_void_p], False),
    "mr_graph_begin": (c_int32, [c_void_p, c_void_p, POINTER(mr_error)], True),
    "mr_graph_end": (c_int32, [c_void_p, POINTER(c_void_p), POINTER(mr_error)], True),
    "mr_graph_retain": (None, [c_void_p], False),
    "mr_graph_release": (None, [c_void_p], False),
    "mr_graph_launch": (c_int32, [c_void_p, c_void_p, POINTER(mr_error)], True),
    "mr_ring_create": (c_int32,
        [c_void_p, c_uint32, c_uint64, POINTER(c_void_p), POINTER(mr_error)], True),
    "mr_ring_retain": (None, [c_void_p], False),
    "mr_ring_release": (None, [c_void_p], False),
    "mr_ring_push": (c_int32,
        [c_void_p, c_uint32, c_void_p, c_void_p, c_uint64, POINTER(mr_error)], True),
    "mr_ring_query": (c_int32, [c_void_p, c_uint32, POINTER(mr_error)], True),
    "mr_ring_wait": (c_int32, [c_void_p, c_uint32, POINTER(c_void_p), POINTER(mr_error)], True),
    "mr_embedding": (c_int32, [c_void_p, POINTER(mr_embedding_args), POINTER(mr_error)], True),
    "mr_embedding_prepare": (c_int32,
        [c_void_p, POINTER(mr_embedding_args), POINTER(mr_error)], True),
    "mr_embedding_workspace": (c_int32,
        [c_void_p, POINTER(mr_embedding_args), POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_embedding_kernel": (c_int32,
        [c_void_p, POINTER(mr_embedding_args), POINTER(mr_kernel_info), POINTER(mr_error)], True),
    "mr_rmsnorm": (c_int32, [c_void_p, POINTER(mr_rmsnorm_args), POINTER(mr_error)], True),
    "mr_rmsnorm_prepare": (c_int32, [c_void_p, POINTER(mr_rmsnorm_args), POINTER(mr_error)], True),
    "mr_rmsnorm_workspace": (c_int32,
        [c_void_p, POINTER(mr_rmsnorm_args), POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_rmsnorm_kernel": (c_int32,
        [c_void_p, POINTER(mr_rmsnorm_args), POINTER(mr_kernel_info), POINTER(mr_error)], True),
    "mr_add": (c_int32, [c_void_p, POINTER(mr_add_args), POINTER(mr_error)], True),
    "mr_add_prepare": (c_int32, [c_void_p, POINTER(mr_add_args), POINTER(mr_error)], True),
    "mr_add_workspace": (c_int32,
        [c_void_p, POINTER(mr_add_args), POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_add_kernel": (c_int32,
        [c_void_p, POINTER(mr_add_args), POINTER(mr_kernel_info), POINTER(mr_error)], True),
    "mr_gated_activation": (c_int32,
        [c_void_p, POINTER(mr_gated_activation_args), POINTER(mr_error)], True),
    "mr_gated_activation_prepare": (c_int32,
        [c_void_p, POINTER(mr_gated_activation_args), POINTER(mr_error)], True),
    "mr_gated_activation_workspace": (c_int32,
        [c_void_p, POINTER(mr_gated_activation_args), POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_gated_activation_kernel": (c_int32,
        [c_void_p, POINTER(mr_gated_activation_args), POINTER(mr_kernel_info),
         POINTER(mr_error)], True),
    "mr_rope": (c_int32, [c_void_p, POINTER(mr_rope_args), POINTER(mr_error)], True),
    "mr_rope_prepare": (c_int32, [c_void_p, POINTER(mr_rope_args), POINTER(mr_error)], True),
    "mr_rope_workspace": (c_int32,
        [c_void_p, POINTER(mr_rope_args), POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_rope_kernel": (c_int32,
        [c_void_p, POINTER(mr_rope_args), POINTER(mr_kernel_info), POINTER(mr_error)], True),
    "mr_qkv_post": (c_int32, [c_void_p, POINTER(mr_qkv_post_args), POINTER(mr_error)], True),
    "mr_qkv_post_prepare": (c_int32,
        [c_void_p, POINTER(mr_qkv_post_args), POINTER(mr_error)], True),
    "mr_qkv_post_workspace": (c_int32,
        [c_void_p, POINTER(mr_qkv_post_args), POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_qkv_post_kernel": (c_int32,
        [c_void_p, POINTER(mr_qkv_post_args), POINTER(mr_kernel_info), POINTER(mr_error)], True),
    "mr_attention": (c_int32, [c_void_p, POINTER(mr_attention_args), POINTER(mr_error)], True),
    "mr_attention_prepare": (c_int32,
        [c_void_p, POINTER(mr_attention_args), POINTER(mr_error)], True),
    "mr_attention_workspace": (c_int32,
        [c_void_p, POINTER(mr_attention_args), POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_attention_kernel": (c_int32,
        [c_void_p, POINTER(mr_attention_args), POINTER(mr_kernel_info), POINTER(mr_error)], True),
    "mr_matmul": (c_int32, [c_void_p, POINTER(mr_matmul_args), POINTER(mr_error)], True),
    "mr_matmul_prepare": (c_int32, [c_void_p, POINTER(mr_matmul_args), POINTER(mr_error)], True),
    "mr_matmul_workspace": (c_int32,
        [c_void_p, POINTER(mr_matmul_args), POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_matmul_kernel": (c_int32,
        [c_void_p, POINTER(mr_matmul_args), POINTER(mr_kernel_info), POINTER(mr_error)], True),
    "mr_matmul_plan_create": (c_int32,
        [c_void_p, POINTER(mr_matmul_problem), POINTER(c_void_p), POINTER(mr_error)], True),
    "mr_matmul_plan_retain": (None, [c_void_p], False),
    "mr_matmul_plan_release": (None, [c_void_p], False),
    "mr_matmul_plan_workspace": (c_int32,
        [c_void_p, c_int64, POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_matmul_plan_kernel": (c_int32,
        [c_void_p, c_int64, POINTER(mr_kernel_info), POINTER(mr_error)], True),
    "mr_matmul_run": (c_int32,
        [c_void_p, c_void_p, POINTER(mr_matmul_operands), POINTER(mr_error)], True),
    "mr_argmax": (c_int32, [c_void_p, POINTER(mr_argmax_args), POINTER(mr_error)], True),
    "mr_argmax_prepare": (c_int32, [c_void_p, POINTER(mr_argmax_args), POINTER(mr_error)], True),
    "mr_argmax_workspace": (c_int32,
        [c_void_p, POINTER(mr_argmax_args), POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_argmax_kernel": (c_int32,
        [c_void_p, POINTER(mr_argmax_args), POINTER(mr_kernel_info), POINTER(mr_error)], True),
    "mr_sample": (c_int32, [c_void_p, POINTER(mr_sample_args), POINTER(mr_error)], True),
    "mr_sample_prepare": (c_int32, [c_void_p, POINTER(mr_sample_args), POINTER(mr_error)], True),
    "mr_sample_workspace": (c_int32,
        [c_void_p, POINTER(mr_sample_args), POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_sample_kernel": (c_int32,
        [c_void_p, POINTER(mr_sample_args), POINTER(mr_kernel_info), POINTER(mr_error)], True),
    "mr_abi_layout": (c_int32,
        [c_uint32, POINTER(c_char_p), POINTER(c_char_p), POINTER(c_uint32), POINTER(c_uint32),
         POINTER(mr_error)], True),
    "mr_memory_allocate_block": (c_int32,
        [c_void_p, c_void_p, c_uint64, c_uint64, c_uint32, POINTER(c_uint64), POINTER(c_void_p),
         POINTER(mr_error)], True),
    "mr_memory_free_block": (c_int32, [c_void_p, c_void_p, c_uint64, POINTER(mr_error)], True),
    "mr_memory_summary": (c_int32,
        [c_void_p, c_void_p, c_uint64, POINTER(c_uint64), POINTER(mr_error)], True),
    "mr_memory_visit": (c_int32, [c_void_p, mr_memory_visit_fn, c_void_p, POINTER(mr_error)], True),
    "mr_get_api": (c_int32,
        [c_uint32, c_uint32, c_uint32, POINTER(c_void_p), POINTER(mr_error)], True),
}

# op: argument struct
OPERATORS = {
    "embedding": mr_embedding_args,
    "rmsnorm": mr_rmsnorm_args,
    "add": mr_add_args,
    "gated_activation": mr_gated_activation_args,
    "rope": mr_rope_args,
    "qkv_post": mr_qkv_post_args,
    "attention": mr_attention_args,
    "matmul": mr_matmul_args,
    "argmax": mr_argmax_args,
    "sample": mr_sample_args,
}

STRUCTS = [
    mr_error,
    mr_tensor,
    mr_probe_info,
    mr_device_info,
    mr_memory_config,
    mr_counter,
    mr_memory_stats,
    mr_memory_block,
    mr_context_config,
    mr_stream_config,
    mr_kernel_info,
    mr_embedding_args,
    mr_rmsnorm_args,
    mr_add_args,
    mr_gated_activation_args,
    mr_rope_config,
    mr_rope_args,
    mr_qkv_post_args,
    mr_attention_args,
    mr_matmul_args,
    mr_matmul_problem,
    mr_matmul_operands,
    mr_argmax_args,
    mr_sample_args,
]
