// Written by bindings/generate.py from include/millrace; edit the headers instead.

use core::marker::{PhantomData, PhantomPinned};
use core::ptr;
use std::os::raw::{c_char, c_void};

pub type mr_status = i32;
pub type mr_dtype = u32;
pub type mr_block = u64;
pub const MR_VERSION_MAJOR: i32 = 0;
pub const MR_VERSION_MINOR: i32 = 1;
pub const MR_VERSION_PATCH: i32 = 0;
pub const MR_ABI_MAJOR: u32 = 0;
pub const MR_ABI_MINOR: u32 = 1;
pub const MR_OK: i32 = 0;
pub const MR_INVALID_ARGUMENT: i32 = 10;
pub const MR_UNSUPPORTED: i32 = 11;
pub const MR_MISALIGNED: i32 = 12;
pub const MR_WORKSPACE_TOO_SMALL: i32 = 13;
pub const MR_NOT_PREPARED: i32 = 14;
pub const MR_CAPTURE_VIOLATION: i32 = 15;
pub const MR_VERSION_MISMATCH: i32 = 16;
pub const MR_NOT_READY: i32 = 17;
pub const MR_OUT_OF_HOST_MEMORY: i32 = 20;
pub const MR_OUT_OF_DEVICE_MEMORY: i32 = 21;
pub const MR_NO_DRIVER: i32 = 30;
pub const MR_DRIVER_TOO_OLD: i32 = 31;
pub const MR_NO_DEVICE: i32 = 32;
pub const MR_NO_KERNEL_IMAGE: i32 = 33;
pub const MR_DEPENDENCY_MISSING: i32 = 34;
pub const MR_DEVICE_ERROR: i32 = 40;
pub const MR_DEVICE_LOST: i32 = 41;
pub const MR_FORKED: i32 = 50;
pub const MR_INTERNAL: i32 = 90;
pub const MR_DOMAIN_MILLRACE: u32 = 0;
pub const MR_DOMAIN_CUDA: u32 = 1;
pub const MR_DOMAIN_CUBLASLT: u32 = 2;
pub const MR_DOMAIN_CUDNN: u32 = 3;
pub const MR_DOMAIN_SYSTEM: u32 = 4;
pub const MR_ERROR_CONTEXT_LOST: u32 = 1;
pub const MR_ERROR_RETRY: u32 = 2;
pub const MR_ABSENT: u32 = 0;
pub const MR_I8: mr_dtype = 67584;
pub const MR_I32: mr_dtype = 73728;
pub const MR_I64: mr_dtype = 81920;
pub const MR_U8: mr_dtype = 67585;
pub const MR_U32: mr_dtype = 73729;
pub const MR_U64: mr_dtype = 81921;
pub const MR_F16: mr_dtype = 69634;
pub const MR_F32: mr_dtype = 73730;
pub const MR_F64: mr_dtype = 81922;
pub const MR_BF16: mr_dtype = 69636;
pub const MR_MAX_RANK: i32 = 6;
pub const MR_TENSOR_READ_ONLY: u32 = 1;
pub const MR_TENSOR_IS_COPIED: u32 = 2;
pub const MR_TENSOR_SUBBYTE_PADDED: u32 = 4;
pub const MR_BACKEND_AUTO: u32 = 0;
pub const MR_BACKEND_HOST: u32 = 1;
pub const MR_BACKEND_CUDA: u32 = 2;
pub const MR_MEMORY_DEVICE: u32 = 0;
pub const MR_MEMORY_PINNED: u32 = 1;
pub const MR_TAG_OTHER: u32 = 0;
pub const MR_TAG_WEIGHTS: u32 = 1;
pub const MR_TAG_KV: u32 = 2;
pub const MR_TAG_ACTIVATIONS: u32 = 3;
pub const MR_TAG_WORKSPACE: u32 = 4;
pub const MR_TAG_COUNT: u32 = 5;
pub const MR_MEMORY_LOCK_PER_STREAM: u32 = 1;
pub const MR_MEMORY_PEAKS_ARE_BOUNDS: u32 = 1;
pub const MR_BLOCK_FREE: u32 = 0;
pub const MR_BLOCK_ALLOCATED: u32 = 1;
pub const MR_BLOCK_PENDING: u32 = 2;
pub const MR_LOG_ERROR: i32 = 1;
pub const MR_LOG_WARNING: i32 = 2;
pub const MR_LOG_INFO: i32 = 3;
pub const MR_LOG_DEBUG: i32 = 4;
pub const MR_STREAM_ALLOW_DEFAULT: u32 = 1;
pub const MR_COPY_ON_DEVICE: u32 = 0;
pub const MR_COPY_TO_DEVICE: u32 = 1;
pub const MR_COPY_TO_HOST: u32 = 2;
pub const MR_EVENT_TIMING: u32 = 1;
pub const MR_EVENT_EXTERNAL: u32 = 1;
pub const MR_ROW_HAD_NAN: i32 = 1;
pub const MR_ROW_ALL_MASKED: i32 = 2;
pub const MR_ROW_EXHAUSTED: i32 = 4;
pub const MR_ROW_ID_OUT_OF_RANGE: i32 = 8;
pub const MR_ACTIVATION_NONE: u32 = 0;
pub const MR_ACTIVATION_RELU: u32 = 1;
pub const MR_ACTIVATION_RELU_SQUARED: u32 = 2;
pub const MR_ACTIVATION_SILU: u32 = 3;
pub const MR_ACTIVATION_GELU_TANH: u32 = 4;
pub const MR_ACTIVATION_GELU_ERF: u32 = 5;
pub const MR_EMBEDDING_SCALE: u32 = 1;
pub const MR_RMSNORM_WEIGHT_PLUS_ONE: u32 = 1;
pub const MR_RMSNORM_ROUND_BEFORE_WEIGHT: u32 = 2;
pub const MR_ROPE_NEOX: u32 = 0;
pub const MR_ROPE_GPTJ: u32 = 1;
pub const MR_ROPE_SCALING_NONE: u32 = 0;
pub const MR_ROPE_SCALING_LINEAR: u32 = 1;
pub const MR_ROPE_SCALING_NTK: u32 = 2;
pub const MR_ROPE_SCALING_YARN: u32 = 3;
pub const MR_ROPE_SCALING_LLAMA3: u32 = 4;
pub const MR_QKV_POST_ROPE: u32 = 1;
pub const MR_QKV_POST_WEIGHT_PLUS_ONE: u32 = 2;
pub const MR_ATTENTION_CAUSAL: u32 = 1;
pub const MR_ATTENTION_WINDOW: u32 = 2;
pub const MR_MATMUL_ADD_C: u32 = 1;

/// Opaque; see millrace/base.h.
#[repr(C)]
pub struct mr_memory {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Opaque; see millrace/base.h.
#[repr(C)]
pub struct mr_context {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Opaque; see millrace/base.h.
#[repr(C)]
pub struct mr_stream {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Opaque; see millrace/base.h.
#[repr(C)]
pub struct mr_event {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Opaque; see millrace/base.h.
#[repr(C)]
pub struct mr_buffer {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Opaque; see millrace/base.h.
#[repr(C)]
pub struct mr_graph {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Opaque; see millrace/base.h.
#[repr(C)]
pub struct mr_graph_pool {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Opaque; see millrace/base.h.
#[repr(C)]
pub struct mr_ring {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// Opaque; see millrace/base.h.
#[repr(C)]
pub struct mr_matmul_plan {
    _opaque: [u8; 0],
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// See millrace/memory.h.
pub type mr_allocate_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, bytes: u64, alignment: u64, kind: u32, ordinal: i32, native_stream: *mut c_void) -> *mut c_void>;

/// See millrace/memory.h.
pub type mr_deallocate_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, address: *mut c_void, bytes: u64, kind: u32, ordinal: i32, native_stream: *mut c_void)>;

/// See millrace/memory.h.
pub type mr_memory_visit_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, block: *const mr_memory_block)>;

/// See millrace/context.h.
pub type mr_log_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, level: i32, text: *const c_char, length: u64)>;

/// See millrace/status.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_error {
    pub code: mr_status,
    pub domain: u32,
    pub native_code: i32,
    pub flags: u32,
    pub text: [c_char; 496],
}
impl mr_error {
    /// All zeros.
    pub const INIT: mr_error = mr_error {
        code: 0,
        domain: 0,
        native_code: 0,
        flags: 0,
        text: [0; 496],
    };
}
impl Default for mr_error {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/tensor.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_tensor {
    pub data: *mut c_void,
    pub dtype: mr_dtype,
    pub rank: i32,
    pub flags: u64,
    pub reserved: u64,
    pub shape: [i64; 6],
    pub strides: [i64; 6],
}
impl mr_tensor {
    /// MR_TENSOR_INIT.
    pub const INIT: mr_tensor = mr_tensor {
        data: ptr::null_mut(),
        dtype: 0,
        rank: 0,
        flags: 0,
        reserved: 0,
        shape: [0; 6],
        strides: [0; 6],
    };
}
impl Default for mr_tensor {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/probe.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_probe_info {
    pub struct_size: u32,
    pub flags: u32,
    pub version: u32,
    pub abi_version: u32,
    pub cuda_runtime_version: u32,
    pub cuda_driver_version: u32,
    pub cuda_driver_minimum: u32,
    pub device_count: u32,
    pub cuda_status: mr_status,
    pub reserved: u32,
    pub cuda_architectures: [c_char; 128],
    pub build: [c_char; 64],
}
impl mr_probe_info {
    /// MR_PROBE_INFO_INIT.
    pub const INIT: mr_probe_info = mr_probe_info {
        struct_size: core::mem::size_of::<mr_probe_info>() as u32,
        flags: 0,
        version: 0,
        abi_version: 0,
        cuda_runtime_version: 0,
        cuda_driver_version: 0,
        cuda_driver_minimum: 0,
        device_count: 0,
        cuda_status: 0,
        reserved: 0,
        cuda_architectures: [0; 128],
        build: [0; 64],
    };
}
impl Default for mr_probe_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/probe.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_device_info {
    pub struct_size: u32,
    pub flags: u32,
    pub backend: u32,
    pub ordinal: i32,
    pub architecture: i32,
    pub multiprocessors: i32,
    pub usable: mr_status,
    pub reserved: u32,
    pub memory_bytes: u64,
    pub l2_bytes: u64,
    pub shared_per_block: u64,
    pub name: [c_char; 128],
}
impl mr_device_info {
    /// MR_DEVICE_INFO_INIT.
    pub const INIT: mr_device_info = mr_device_info {
        struct_size: core::mem::size_of::<mr_device_info>() as u32,
        flags: 0,
        backend: 0,
        ordinal: 0,
        architecture: 0,
        multiprocessors: 0,
        usable: 0,
        reserved: 0,
        memory_bytes: 0,
        l2_bytes: 0,
        shared_per_block: 0,
        name: [0; 128],
    };
}
impl Default for mr_device_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/memory.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_memory_config {
    pub struct_size: u32,
    pub flags: u32,
    pub backend: u32,
    pub ordinal: i32,
    pub limit_bytes: u64,
    pub allocate: mr_allocate_fn,
    pub deallocate: mr_deallocate_fn,
    pub user: *mut c_void,
}
impl mr_memory_config {
    /// MR_MEMORY_CONFIG_INIT.
    pub const INIT: mr_memory_config = mr_memory_config {
        struct_size: core::mem::size_of::<mr_memory_config>() as u32,
        flags: 0,
        backend: 0,
        ordinal: 0,
        limit_bytes: 0,
        allocate: None,
        deallocate: None,
        user: ptr::null_mut(),
    };
}
impl Default for mr_memory_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/memory.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_counter {
    pub current: u64,
    pub peak: u64,
    pub total: u64,
}
impl mr_counter {
    /// All zeros.
    pub const INIT: mr_counter = mr_counter {
        current: 0,
        peak: 0,
        total: 0,
    };
}
impl Default for mr_counter {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/memory.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_memory_stats {
    pub struct_size: u32,
    pub flags: u32,
    pub requested: mr_counter,
    pub allocated: mr_counter,
    pub active: mr_counter,
    pub reserved: mr_counter,
    pub inactive: mr_counter,
    pub pinned: mr_counter,
    pub tags: [mr_counter; 5],
    pub allocations: u64,
    pub frees: u64,
    pub retries: u64,
    pub out_of_memory: u64,
    pub driver_allocations: u64,
    pub driver_frees: u64,
    pub limit_bytes: u64,
    pub device_free: u64,
    pub device_total: u64,
    pub external: u64,
    pub waits: u64,
    pub taken_over: u64,
    pub largest_free: u64,
    pub graph_bytes: u64,
    pub address_bytes: u64,
}
impl mr_memory_stats {
    /// MR_MEMORY_STATS_INIT.
    pub const INIT: mr_memory_stats = mr_memory_stats {
        struct_size: core::mem::size_of::<mr_memory_stats>() as u32,
        flags: 0,
        requested: mr_counter::INIT,
        allocated: mr_counter::INIT,
        active: mr_counter::INIT,
        reserved: mr_counter::INIT,
        inactive: mr_counter::INIT,
        pinned: mr_counter::INIT,
        tags: [mr_counter::INIT; 5],
        allocations: 0,
        frees: 0,
        retries: 0,
        out_of_memory: 0,
        driver_allocations: 0,
        driver_frees: 0,
        limit_bytes: 0,
        device_free: 0,
        device_total: 0,
        external: 0,
        waits: 0,
        taken_over: 0,
        largest_free: 0,
        graph_bytes: 0,
        address_bytes: 0,
    };
}
impl Default for mr_memory_stats {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/memory.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_memory_block {
    pub struct_size: u32,
    pub flags: u32,
    pub segment_address: *mut c_void,
    pub segment_bytes: u64,
    pub address: *mut c_void,
    pub bytes: u64,
    pub requested: u64,
    pub stream: u64,
    pub state: u32,
    pub tag: u32,
    pub graphs: u32,
    pub reserved: u32,
}
impl mr_memory_block {
    /// MR_MEMORY_BLOCK_INIT.
    pub const INIT: mr_memory_block = mr_memory_block {
        struct_size: core::mem::size_of::<mr_memory_block>() as u32,
        flags: 0,
        segment_address: ptr::null_mut(),
        segment_bytes: 0,
        address: ptr::null_mut(),
        bytes: 0,
        requested: 0,
        stream: 0,
        state: 0,
        tag: 0,
        graphs: 0,
        reserved: 0,
    };
}
impl Default for mr_memory_block {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/context.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_context_config {
    pub struct_size: u32,
    pub flags: u32,
    pub backend: u32,
    pub ordinal: i32,
    pub log: mr_log_fn,
    pub log_user: *mut c_void,
    pub log_level: i32,
    pub reserved: u32,
    pub options: *const c_char,
    pub memory: *mut mr_memory,
}
impl mr_context_config {
    /// MR_CONTEXT_CONFIG_INIT.
    pub const INIT: mr_context_config = mr_context_config {
        struct_size: core::mem::size_of::<mr_context_config>() as u32,
        flags: 0,
        backend: 0,
        ordinal: 0,
        log: None,
        log_user: ptr::null_mut(),
        log_level: 0,
        reserved: 0,
        options: ptr::null(),
        memory: ptr::null_mut(),
    };
}
impl Default for mr_context_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/stream.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_stream_config {
    pub struct_size: u32,
    pub flags: u32,
    pub workspace_bytes: u64,
    pub priority: i32,
    pub reserved: u32,
}
impl mr_stream_config {
    /// MR_STREAM_CONFIG_INIT.
    pub const INIT: mr_stream_config = mr_stream_config {
        struct_size: core::mem::size_of::<mr_stream_config>() as u32,
        flags: 0,
        workspace_bytes: 0,
        priority: 0,
        reserved: 0,
    };
}
impl Default for mr_stream_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/op.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_kernel_info {
    pub struct_size: u32,
    pub flags: u32,
    pub workspace_bytes: u64,
    pub threads_per_block: i32,
    pub registers_per_thread: i32,
    pub blocks_per_multiprocessor: i32,
    pub reserved: i32,
    pub shared_bytes_per_block: u64,
    pub limit: [c_char; 32],
    pub name: [c_char; 64],
    pub refused: [c_char; 384],
}
impl mr_kernel_info {
    /// MR_KERNEL_INFO_INIT.
    pub const INIT: mr_kernel_info = mr_kernel_info {
        struct_size: core::mem::size_of::<mr_kernel_info>() as u32,
        flags: 0,
        workspace_bytes: 0,
        threads_per_block: 0,
        registers_per_thread: 0,
        blocks_per_multiprocessor: 0,
        reserved: 0,
        shared_bytes_per_block: 0,
        limit: [0; 32],
        name: [0; 64],
        refused: [0; 384],
    };
}
impl Default for mr_kernel_info {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/embedding.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_embedding_args {
    pub struct_size: u32,
    pub flags: u32,
    pub ids: mr_tensor,
    pub table: mr_tensor,
    pub output: mr_tensor,
    pub row_status: mr_tensor,
    pub scale: f32,
    pub reserved: u32,
}
impl mr_embedding_args {
    /// MR_EMBEDDING_ARGS_INIT.
    pub const INIT: mr_embedding_args = mr_embedding_args {
        struct_size: core::mem::size_of::<mr_embedding_args>() as u32,
        flags: 0,
        ids: mr_tensor::INIT,
        table: mr_tensor::INIT,
        output: mr_tensor::INIT,
        row_status: mr_tensor::INIT,
        scale: 0.0,
        reserved: 0,
    };
}
impl Default for mr_embedding_args {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/norm.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_rmsnorm_args {
    pub struct_size: u32,
    pub flags: u32,
    pub input: mr_tensor,
    pub residual: mr_tensor,
    pub weight: mr_tensor,
    pub output: mr_tensor,
    pub residual_output: mr_tensor,
    pub epsilon: f32,
    pub reserved: u32,
}
impl mr_rmsnorm_args {
    /// MR_RMSNORM_ARGS_INIT.
    pub const INIT: mr_rmsnorm_args = mr_rmsnorm_args {
        struct_size: core::mem::size_of::<mr_rmsnorm_args>() as u32,
        flags: 0,
        input: mr_tensor::INIT,
        residual: mr_tensor::INIT,
        weight: mr_tensor::INIT,
        output: mr_tensor::INIT,
        residual_output: mr_tensor::INIT,
        epsilon: 0.0,
        reserved: 0,
    };
}
impl Default for mr_rmsnorm_args {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/elementwise.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_add_args {
    pub struct_size: u32,
    pub flags: u32,
    pub a: mr_tensor,
    pub b: mr_tensor,
    pub output: mr_tensor,
}
impl mr_add_args {
    /// MR_ADD_ARGS_INIT.
    pub const INIT: mr_add_args = mr_add_args {
        struct_size: core::mem::size_of::<mr_add_args>() as u32,
        flags: 0,
        a: mr_tensor::INIT,
        b: mr_tensor::INIT,
        output: mr_tensor::INIT,
    };
}
impl Default for mr_add_args {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/elementwise.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_gated_activation_args {
    pub struct_size: u32,
    pub flags: u32,
    pub gate: mr_tensor,
    pub up: mr_tensor,
    pub output: mr_tensor,
    pub activation: u32,
    pub reserved: u32,
}
impl mr_gated_activation_args {
    /// MR_GATED_ACTIVATION_ARGS_INIT.
    pub const INIT: mr_gated_activation_args = mr_gated_activation_args {
        struct_size: core::mem::size_of::<mr_gated_activation_args>() as u32,
        flags: 0,
        gate: mr_tensor::INIT,
        up: mr_tensor::INIT,
        output: mr_tensor::INIT,
        activation: 0,
        reserved: 0,
    };
}
impl Default for mr_gated_activation_args {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/rope.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_rope_config {
    pub pairing: u32,
    pub scaling: u32,
    pub rotary_dim: i32,
    pub original_max_position: i32,
    pub theta: f32,
    pub factor: f32,
    pub low_freq_factor: f32,
    pub high_freq_factor: f32,
    pub beta_fast: f32,
    pub beta_slow: f32,
    pub attention_factor: f32,
    pub reserved: [u32; 5],
}
impl mr_rope_config {
    /// MR_ROPE_CONFIG_INIT.
    pub const INIT: mr_rope_config = mr_rope_config {
        pairing: 0,
        scaling: 0,
        rotary_dim: 0,
        original_max_position: 0,
        theta: 10000.0,
        factor: 1.0,
        low_freq_factor: 0.0,
        high_freq_factor: 0.0,
        beta_fast: 0.0,
        beta_slow: 0.0,
        attention_factor: 0.0,
        reserved: [0; 5],
    };
}
impl Default for mr_rope_config {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/rope.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_rope_args {
    pub struct_size: u32,
    pub flags: u32,
    pub input: mr_tensor,
    pub positions: mr_tensor,
    pub output: mr_tensor,
    pub rope: mr_rope_config,
}
impl mr_rope_args {
    /// MR_ROPE_ARGS_INIT.
    pub const INIT: mr_rope_args = mr_rope_args {
        struct_size: core::mem::size_of::<mr_rope_args>() as u32,
        flags: 0,
        input: mr_tensor::INIT,
        positions: mr_tensor::INIT,
        output: mr_tensor::INIT,
        rope: mr_rope_config::INIT,
    };
}
impl Default for mr_rope_args {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/rope.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_qkv_post_args {
    pub struct_size: u32,
    pub flags: u32,
    pub q: mr_tensor,
    pub k: mr_tensor,
    pub v: mr_tensor,
    pub q_bias: mr_tensor,
    pub k_bias: mr_tensor,
    pub v_bias: mr_tensor,
    pub q_norm: mr_tensor,
    pub k_norm: mr_tensor,
    pub positions: mr_tensor,
    pub slot: mr_tensor,
    pub q_output: mr_tensor,
    pub k_cache: mr_tensor,
    pub v_cache: mr_tensor,
    pub row_status: mr_tensor,
    pub rope: mr_rope_config,
    pub epsilon: f32,
    pub reserved: u32,
}
impl mr_qkv_post_args {
    /// MR_QKV_POST_ARGS_INIT.
    pub const INIT: mr_qkv_post_args = mr_qkv_post_args {
        struct_size: core::mem::size_of::<mr_qkv_post_args>() as u32,
        flags: 0,
        q: mr_tensor::INIT,
        k: mr_tensor::INIT,
        v: mr_tensor::INIT,
        q_bias: mr_tensor::INIT,
        k_bias: mr_tensor::INIT,
        v_bias: mr_tensor::INIT,
        q_norm: mr_tensor::INIT,
        k_norm: mr_tensor::INIT,
        positions: mr_tensor::INIT,
        slot: mr_tensor::INIT,
        q_output: mr_tensor::INIT,
        k_cache: mr_tensor::INIT,
        v_cache: mr_tensor::INIT,
        row_status: mr_tensor::INIT,
        rope: mr_rope_config::INIT,
        epsilon: 0.0,
        reserved: 0,
    };
}
impl Default for mr_qkv_post_args {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/attention.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_attention_args {
    pub struct_size: u32,
    pub flags: u32,
    pub q: mr_tensor,
    pub k: mr_tensor,
    pub v: mr_tensor,
    pub cu_q: mr_tensor,
    pub cu_kv: mr_tensor,
    pub kv_len: mr_tensor,
    pub block_table: mr_tensor,
    pub output: mr_tensor,
    pub lse: mr_tensor,
    pub row_status: mr_tensor,
    pub max_q: i64,
    pub max_kv: i64,
    pub scale: f32,
    pub window_left: i32,
    pub window_right: i32,
    pub reserved: u32,
}
impl mr_attention_args {
    /// MR_ATTENTION_ARGS_INIT.
    pub const INIT: mr_attention_args = mr_attention_args {
        struct_size: core::mem::size_of::<mr_attention_args>() as u32,
        flags: 0,
        q: mr_tensor::INIT,
        k: mr_tensor::INIT,
        v: mr_tensor::INIT,
        cu_q: mr_tensor::INIT,
        cu_kv: mr_tensor::INIT,
        kv_len: mr_tensor::INIT,
        block_table: mr_tensor::INIT,
        output: mr_tensor::INIT,
        lse: mr_tensor::INIT,
        row_status: mr_tensor::INIT,
        max_q: 0,
        max_kv: 0,
        scale: 0.0,
        window_left: 0,
        window_right: 0,
        reserved: 0,
    };
}
impl Default for mr_attention_args {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/matmul.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_matmul_args {
    pub struct_size: u32,
    pub flags: u32,
    pub x: mr_tensor,
    pub w: mr_tensor,
    pub bias: mr_tensor,
    pub c: mr_tensor,
    pub d: mr_tensor,
    pub alpha: f32,
    pub beta: f32,
    pub activation: u32,
    pub reserved: u32,
}
impl mr_matmul_args {
    /// MR_MATMUL_ARGS_INIT.
    pub const INIT: mr_matmul_args = mr_matmul_args {
        struct_size: core::mem::size_of::<mr_matmul_args>() as u32,
        flags: 0,
        x: mr_tensor::INIT,
        w: mr_tensor::INIT,
        bias: mr_tensor::INIT,
        c: mr_tensor::INIT,
        d: mr_tensor::INIT,
        alpha: 1.0,
        beta: 0.0,
        activation: 0,
        reserved: 0,
    };
}
impl Default for mr_matmul_args {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/matmul.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_matmul_problem {
    pub struct_size: u32,
    pub flags: u32,
    pub dtype: mr_dtype,
    pub d_dtype: mr_dtype,
    pub bias_dtype: mr_dtype,
    pub activation: u32,
    pub batch: i64,
    pub m_max: i64,
    pub n: i64,
    pub k: i64,
}
impl mr_matmul_problem {
    /// MR_MATMUL_PROBLEM_INIT.
    pub const INIT: mr_matmul_problem = mr_matmul_problem {
        struct_size: core::mem::size_of::<mr_matmul_problem>() as u32,
        flags: 0,
        dtype: 0,
        d_dtype: 0,
        bias_dtype: 0,
        activation: 0,
        batch: 0,
        m_max: 0,
        n: 0,
        k: 0,
    };
}
impl Default for mr_matmul_problem {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/matmul.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_matmul_operands {
    pub struct_size: u32,
    pub flags: u32,
    pub x: mr_tensor,
    pub w: mr_tensor,
    pub bias: mr_tensor,
    pub c: mr_tensor,
    pub d: mr_tensor,
    pub alpha: f32,
    pub beta: f32,
    pub event: *mut mr_event,
}
impl mr_matmul_operands {
    /// MR_MATMUL_OPERANDS_INIT.
    pub const INIT: mr_matmul_operands = mr_matmul_operands {
        struct_size: core::mem::size_of::<mr_matmul_operands>() as u32,
        flags: 0,
        x: mr_tensor::INIT,
        w: mr_tensor::INIT,
        bias: mr_tensor::INIT,
        c: mr_tensor::INIT,
        d: mr_tensor::INIT,
        alpha: 1.0,
        beta: 0.0,
        event: ptr::null_mut(),
    };
}
impl Default for mr_matmul_operands {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/sampling.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_argmax_args {
    pub struct_size: u32,
    pub flags: u32,
    pub input: mr_tensor,
    pub output: mr_tensor,
    pub row_status: mr_tensor,
}
impl mr_argmax_args {
    /// MR_ARGMAX_ARGS_INIT.
    pub const INIT: mr_argmax_args = mr_argmax_args {
        struct_size: core::mem::size_of::<mr_argmax_args>() as u32,
        flags: 0,
        input: mr_tensor::INIT,
        output: mr_tensor::INIT,
        row_status: mr_tensor::INIT,
    };
}
impl Default for mr_argmax_args {
    fn default() -> Self {
        Self::INIT
    }
}

/// See millrace/sampling.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_sample_args {
    pub struct_size: u32,
    pub flags: u32,
    pub logits: mr_tensor,
    pub temperature: mr_tensor,
    pub top_k: mr_tensor,
    pub top_p: mr_tensor,
    pub min_p: mr_tensor,
    pub seed: mr_tensor,
    pub rng_offset: mr_tensor,
    pub output: mr_tensor,
    pub row_status: mr_tensor,
}
impl mr_sample_args {
    /// MR_SAMPLE_ARGS_INIT.
    pub const INIT: mr_sample_args = mr_sample_args {
        struct_size: core::mem::size_of::<mr_sample_args>() as u32,
        flags: 0,
        logits: mr_tensor::INIT,
        temperature: mr_tensor::INIT,
        top_k: mr_tensor::INIT,
        top_p: mr_tensor::INIT,
        min_p: mr_tensor::INIT,
        seed: mr_tensor::INIT,
        rng_offset: mr_tensor::INIT,
        output: mr_tensor::INIT,
        row_status: mr_tensor::INIT,
    };
}
impl Default for mr_sample_args {
    fn default() -> Self {
        Self::INIT
    }
}

/// The function table; see millrace/api.h. A slot beyond `struct_size` must not be
/// read: copy the table with [`crate::full_table`] to get `None` there.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mr_api {
    pub struct_size: u32,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub reserved: u32,
    pub version:
        Option<unsafe extern "C" fn() -> u32>,
    pub abi_version:
        Option<unsafe extern "C" fn() -> u32>,
    pub status_name:
        Option<unsafe extern "C" fn(status: mr_status) -> *const c_char>,
    pub status_text:
        Option<unsafe extern "C" fn(status: mr_status) -> *const c_char>,
    pub tensor_pack:
        Option<unsafe extern "C" fn(data: *mut c_void, dtype: mr_dtype, rank: i32, shape: *const i64, out: *mut mr_tensor, err: *mut mr_error) -> mr_status>,
    pub tensor_from_dlpack:
        Option<unsafe extern "C" fn(dl_tensor: *const c_void, flags: u64, out: *mut mr_tensor, out_device_type: *mut i32, out_device_id: *mut i32, err: *mut mr_error) -> mr_status>,
    pub tensor_import_dlpack:
        Option<unsafe extern "C" fn(dl_managed: *mut c_void, out: *mut mr_tensor, out_device_type: *mut i32, out_device_id: *mut i32, err: *mut mr_error) -> mr_status>,
    pub dlpack_release:
        Option<unsafe extern "C" fn(dl_managed: *mut c_void)>,
    pub tensor_to_dlpack:
        Option<unsafe extern "C" fn(tensor: *const mr_tensor, device_type: i32, device_id: i32, out_dl_tensor: *mut c_void, shape: *mut i64, strides: *mut i64, err: *mut mr_error) -> mr_status>,
    pub tensor_export_dlpack:
        Option<unsafe extern "C" fn(tensor: *const mr_tensor, buffer: *mut mr_buffer, out_dl_managed: *mut *mut c_void, err: *mut mr_error) -> mr_status>,
    pub probe:
        Option<unsafe extern "C" fn(out: *mut mr_probe_info, err: *mut mr_error) -> mr_status>,
    pub device_query:
        Option<unsafe extern "C" fn(index: u32, out: *mut mr_device_info, err: *mut mr_error) -> mr_status>,
    pub dependency:
        Option<unsafe extern "C" fn(name: *const c_char, out: *mut c_char, capacity: u64, out_length: *mut u64, err: *mut mr_error) -> mr_status>,
    pub memory_create:
        Option<unsafe extern "C" fn(config: *const mr_memory_config, out: *mut *mut mr_memory, err: *mut mr_error) -> mr_status>,
    pub memory_retain:
        Option<unsafe extern "C" fn(memory: *mut mr_memory)>,
    pub memory_release:
        Option<unsafe extern "C" fn(memory: *mut mr_memory)>,
    pub memory_allocate:
        Option<unsafe extern "C" fn(memory: *mut mr_memory, stream: *mut mr_stream, bytes: u64, alignment: u64, tag: u32, out: *mut *mut c_void, err: *mut mr_error) -> mr_status>,
    pub memory_free:
        Option<unsafe extern "C" fn(memory: *mut mr_memory, stream: *mut mr_stream, address: *mut c_void, err: *mut mr_error) -> mr_status>,
    pub memory_use:
        Option<unsafe extern "C" fn(memory: *mut mr_memory, stream: *mut mr_stream, address: *mut c_void, err: *mut mr_error) -> mr_status>,
    pub memory_trim:
        Option<unsafe extern "C" fn(memory: *mut mr_memory, target_bytes: u64, out_reserved: *mut u64, err: *mut mr_error) -> mr_status>,
    pub memory_set_limit:
        Option<unsafe extern "C" fn(memory: *mut mr_memory, limit_bytes: u64, err: *mut mr_error) -> mr_status>,
    pub memory_get_stats:
        Option<unsafe extern "C" fn(memory: *mut mr_memory, out: *mut mr_memory_stats, err: *mut mr_error) -> mr_status>,
    pub memory_reset_peaks:
        Option<unsafe extern "C" fn(memory: *mut mr_memory, err: *mut mr_error) -> mr_status>,
    pub buffer_create:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, bytes: u64, kind: u32, tag: u32, out: *mut *mut mr_buffer, err: *mut mr_error) -> mr_status>,
    pub buffer_retain:
        Option<unsafe extern "C" fn(buffer: *mut mr_buffer)>,
    pub buffer_release:
        Option<unsafe extern "C" fn(buffer: *mut mr_buffer)>,
    pub buffer_data:
        Option<unsafe extern "C" fn(buffer: *mut mr_buffer) -> *mut c_void>,
    pub buffer_bytes:
        Option<unsafe extern "C" fn(buffer: *mut mr_buffer) -> u64>,
    pub buffer_use:
        Option<unsafe extern "C" fn(buffer: *mut mr_buffer, stream: *mut mr_stream, err: *mut mr_error) -> mr_status>,
    pub context_create:
        Option<unsafe extern "C" fn(config: *const mr_context_config, out: *mut *mut mr_context, err: *mut mr_error) -> mr_status>,
    pub context_retain:
        Option<unsafe extern "C" fn(context: *mut mr_context)>,
    pub context_release:
        Option<unsafe extern "C" fn(context: *mut mr_context)>,
    pub context_health:
        Option<unsafe extern "C" fn(context: *mut mr_context, err: *mut mr_error) -> mr_status>,
    pub context_device:
        Option<unsafe extern "C" fn(context: *mut mr_context, out: *mut mr_device_info, err: *mut mr_error) -> mr_status>,
    pub context_memory:
        Option<unsafe extern "C" fn(context: *mut mr_context) -> *mut mr_memory>,
    pub context_set_option:
        Option<unsafe extern "C" fn(context: *mut mr_context, name: *const c_char, value: *const c_char, err: *mut mr_error) -> mr_status>,
    pub context_get_option:
        Option<unsafe extern "C" fn(context: *mut mr_context, name: *const c_char, out: *mut c_char, capacity: u64, out_length: *mut u64, err: *mut mr_error) -> mr_status>,
    pub stream_create:
        Option<unsafe extern "C" fn(context: *mut mr_context, config: *const mr_stream_config, out: *mut *mut mr_stream, err: *mut mr_error) -> mr_status>,
    pub stream_wrap:
        Option<unsafe extern "C" fn(context: *mut mr_context, native: *mut c_void, config: *const mr_stream_config, out: *mut *mut mr_stream, err: *mut mr_error) -> mr_status>,
    pub stream_retain:
        Option<unsafe extern "C" fn(stream: *mut mr_stream)>,
    pub stream_release:
        Option<unsafe extern "C" fn(stream: *mut mr_stream)>,
    pub stream_native:
        Option<unsafe extern "C" fn(stream: *mut mr_stream) -> *mut c_void>,
    pub stream_context:
        Option<unsafe extern "C" fn(stream: *mut mr_stream) -> *mut mr_context>,
    pub stream_query:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, err: *mut mr_error) -> mr_status>,
    pub stream_synchronize:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, err: *mut mr_error) -> mr_status>,
    pub stream_set_workspace:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, address: *mut c_void, bytes: u64, err: *mut mr_error) -> mr_status>,
    pub stream_reserve_capture:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, bytes: u64, err: *mut mr_error) -> mr_status>,
    pub stream_is_capturing:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, out: *mut i32, err: *mut mr_error) -> mr_status>,
    pub copy:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, to: *mut c_void, from: *const c_void, bytes: u64, direction: u32, err: *mut mr_error) -> mr_status>,
    pub fill:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, to: *mut c_void, value: u32, bytes: u64, err: *mut mr_error) -> mr_status>,
    pub upload:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, to_device: *mut c_void, from_host: *const c_void, bytes: u64, err: *mut mr_error) -> mr_status>,
    pub download:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, to_host: *mut c_void, from_device: *const c_void, bytes: u64, err: *mut mr_error) -> mr_status>,
    pub event_create:
        Option<unsafe extern "C" fn(context: *mut mr_context, flags: u32, out: *mut *mut mr_event, err: *mut mr_error) -> mr_status>,
    pub event_wrap:
        Option<unsafe extern "C" fn(context: *mut mr_context, native: *mut c_void, out: *mut *mut mr_event, err: *mut mr_error) -> mr_status>,
    pub event_retain:
        Option<unsafe extern "C" fn(event: *mut mr_event)>,
    pub event_release:
        Option<unsafe extern "C" fn(event: *mut mr_event)>,
    pub event_native:
        Option<unsafe extern "C" fn(event: *mut mr_event) -> *mut c_void>,
    pub event_record:
        Option<unsafe extern "C" fn(event: *mut mr_event, stream: *mut mr_stream, flags: u32, err: *mut mr_error) -> mr_status>,
    pub stream_wait_event:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, event: *mut mr_event, err: *mut mr_error) -> mr_status>,
    pub event_query:
        Option<unsafe extern "C" fn(event: *mut mr_event, err: *mut mr_error) -> mr_status>,
    pub event_synchronize:
        Option<unsafe extern "C" fn(event: *mut mr_event, err: *mut mr_error) -> mr_status>,
    pub event_elapsed:
        Option<unsafe extern "C" fn(start: *mut mr_event, stop: *mut mr_event, out_milliseconds: *mut f32, err: *mut mr_error) -> mr_status>,
    pub graph_pool_create:
        Option<unsafe extern "C" fn(context: *mut mr_context, bytes: u64, out: *mut *mut mr_graph_pool, err: *mut mr_error) -> mr_status>,
    pub graph_pool_retain:
        Option<unsafe extern "C" fn(pool: *mut mr_graph_pool)>,
    pub graph_pool_release:
        Option<unsafe extern "C" fn(pool: *mut mr_graph_pool)>,
    pub graph_begin:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, pool: *mut mr_graph_pool, err: *mut mr_error) -> mr_status>,
    pub graph_end:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, out: *mut *mut mr_graph, err: *mut mr_error) -> mr_status>,
    pub graph_retain:
        Option<unsafe extern "C" fn(graph: *mut mr_graph)>,
    pub graph_release:
        Option<unsafe extern "C" fn(graph: *mut mr_graph)>,
    pub graph_launch:
        Option<unsafe extern "C" fn(graph: *mut mr_graph, stream: *mut mr_stream, err: *mut mr_error) -> mr_status>,
    pub ring_create:
        Option<unsafe extern "C" fn(context: *mut mr_context, slots: u32, slot_bytes: u64, out: *mut *mut mr_ring, err: *mut mr_error) -> mr_status>,
    pub ring_retain:
        Option<unsafe extern "C" fn(ring: *mut mr_ring)>,
    pub ring_release:
        Option<unsafe extern "C" fn(ring: *mut mr_ring)>,
    pub ring_push:
        Option<unsafe extern "C" fn(ring: *mut mr_ring, slot: u32, stream: *mut mr_stream, from: *const c_void, bytes: u64, err: *mut mr_error) -> mr_status>,
    pub ring_query:
        Option<unsafe extern "C" fn(ring: *mut mr_ring, slot: u32, err: *mut mr_error) -> mr_status>,
    pub ring_wait:
        Option<unsafe extern "C" fn(ring: *mut mr_ring, slot: u32, out_data: *mut *const c_void, err: *mut mr_error) -> mr_status>,
    pub embedding:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_embedding_args, err: *mut mr_error) -> mr_status>,
    pub embedding_prepare:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_embedding_args, err: *mut mr_error) -> mr_status>,
    pub embedding_workspace:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_embedding_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status>,
    pub embedding_kernel:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_embedding_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status>,
    pub rmsnorm:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_rmsnorm_args, err: *mut mr_error) -> mr_status>,
    pub rmsnorm_prepare:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_rmsnorm_args, err: *mut mr_error) -> mr_status>,
    pub rmsnorm_workspace:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_rmsnorm_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status>,
    pub rmsnorm_kernel:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_rmsnorm_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status>,
    pub add:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_add_args, err: *mut mr_error) -> mr_status>,
    pub add_prepare:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_add_args, err: *mut mr_error) -> mr_status>,
    pub add_workspace:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_add_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status>,
    pub add_kernel:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_add_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status>,
    pub gated_activation:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_gated_activation_args, err: *mut mr_error) -> mr_status>,
    pub gated_activation_prepare:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_gated_activation_args, err: *mut mr_error) -> mr_status>,
    pub gated_activation_workspace:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_gated_activation_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status>,
    pub gated_activation_kernel:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_gated_activation_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status>,
    pub rope:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_rope_args, err: *mut mr_error) -> mr_status>,
    pub rope_prepare:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_rope_args, err: *mut mr_error) -> mr_status>,
    pub rope_workspace:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_rope_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status>,
    pub rope_kernel:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_rope_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status>,
    pub qkv_post:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_qkv_post_args, err: *mut mr_error) -> mr_status>,
    pub qkv_post_prepare:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_qkv_post_args, err: *mut mr_error) -> mr_status>,
    pub qkv_post_workspace:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_qkv_post_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status>,
    pub qkv_post_kernel:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_qkv_post_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status>,
    pub attention:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_attention_args, err: *mut mr_error) -> mr_status>,
    pub attention_prepare:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_attention_args, err: *mut mr_error) -> mr_status>,
    pub attention_workspace:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_attention_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status>,
    pub attention_kernel:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_attention_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status>,
    pub matmul:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_matmul_args, err: *mut mr_error) -> mr_status>,
    pub matmul_prepare:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_matmul_args, err: *mut mr_error) -> mr_status>,
    pub matmul_workspace:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_matmul_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status>,
    pub matmul_kernel:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_matmul_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status>,
    pub matmul_plan_create:
        Option<unsafe extern "C" fn(context: *mut mr_context, problem: *const mr_matmul_problem, out: *mut *mut mr_matmul_plan, err: *mut mr_error) -> mr_status>,
    pub matmul_plan_retain:
        Option<unsafe extern "C" fn(plan: *mut mr_matmul_plan)>,
    pub matmul_plan_release:
        Option<unsafe extern "C" fn(plan: *mut mr_matmul_plan)>,
    pub matmul_plan_workspace:
        Option<unsafe extern "C" fn(plan: *mut mr_matmul_plan, m: i64, out_bytes: *mut u64, err: *mut mr_error) -> mr_status>,
    pub matmul_plan_kernel:
        Option<unsafe extern "C" fn(plan: *mut mr_matmul_plan, m: i64, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status>,
    pub matmul_run:
        Option<unsafe extern "C" fn(plan: *mut mr_matmul_plan, stream: *mut mr_stream, operands: *const mr_matmul_operands, err: *mut mr_error) -> mr_status>,
    pub argmax:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_argmax_args, err: *mut mr_error) -> mr_status>,
    pub argmax_prepare:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_argmax_args, err: *mut mr_error) -> mr_status>,
    pub argmax_workspace:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_argmax_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status>,
    pub argmax_kernel:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_argmax_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status>,
    pub sample:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_sample_args, err: *mut mr_error) -> mr_status>,
    pub sample_prepare:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_sample_args, err: *mut mr_error) -> mr_status>,
    pub sample_workspace:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_sample_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status>,
    pub sample_kernel:
        Option<unsafe extern "C" fn(stream: *mut mr_stream, args: *const mr_sample_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status>,
    pub abi_layout:
        Option<unsafe extern "C" fn(index: u32, out_struct: *mut *const c_char, out_field: *mut *const c_char, out_offset: *mut u32, out_size: *mut u32, err: *mut mr_error) -> mr_status>,
    pub memory_allocate_block:
        Option<unsafe extern "C" fn(memory: *mut mr_memory, stream: *mut mr_stream, bytes: u64, alignment: u64, tag: u32, out_block: *mut mr_block, out: *mut *mut c_void, err: *mut mr_error) -> mr_status>,
    pub memory_free_block:
        Option<unsafe extern "C" fn(memory: *mut mr_memory, stream: *mut mr_stream, block: mr_block, err: *mut mr_error) -> mr_status>,
    pub memory_summary:
        Option<unsafe extern "C" fn(memory: *mut mr_memory, out: *mut c_char, capacity: u64, out_length: *mut u64, err: *mut mr_error) -> mr_status>,
    pub memory_visit:
        Option<unsafe extern "C" fn(memory: *mut mr_memory, visit: mr_memory_visit_fn, user: *mut c_void, err: *mut mr_error) -> mr_status>,
}

/// The type of `mr_get_api`.
pub type mr_get_api_fn =
    unsafe extern "C" fn(major_min: u32, major_max: u32, minor_min: u32, out: *mut *const mr_api, err: *mut mr_error) -> mr_status;

#[cfg(feature = "link")]
extern "C" {
    /// See millrace/base.h.
    pub fn mr_version() -> u32;
    /// See millrace/base.h.
    pub fn mr_abi_version() -> u32;
    /// See millrace/status.h.
    pub fn mr_status_name(status: mr_status) -> *const c_char;
    /// See millrace/status.h.
    pub fn mr_status_text(status: mr_status) -> *const c_char;
    /// See millrace/tensor.h.
    pub fn mr_tensor_pack(data: *mut c_void, dtype: mr_dtype, rank: i32, shape: *const i64, out: *mut mr_tensor, err: *mut mr_error) -> mr_status;
    /// See millrace/tensor.h.
    pub fn mr_tensor_from_dlpack(dl_tensor: *const c_void, flags: u64, out: *mut mr_tensor, out_device_type: *mut i32, out_device_id: *mut i32, err: *mut mr_error) -> mr_status;
    /// See millrace/tensor.h.
    pub fn mr_tensor_import_dlpack(dl_managed: *mut c_void, out: *mut mr_tensor, out_device_type: *mut i32, out_device_id: *mut i32, err: *mut mr_error) -> mr_status;
    /// See millrace/tensor.h.
    pub fn mr_dlpack_release(dl_managed: *mut c_void);
    /// See millrace/tensor.h.
    pub fn mr_tensor_to_dlpack(tensor: *const mr_tensor, device_type: i32, device_id: i32, out_dl_tensor: *mut c_void, shape: *mut i64, strides: *mut i64, err: *mut mr_error) -> mr_status;
    /// See millrace/tensor.h.
    pub fn mr_tensor_export_dlpack(tensor: *const mr_tensor, buffer: *mut mr_buffer, out_dl_managed: *mut *mut c_void, err: *mut mr_error) -> mr_status;
    /// See millrace/probe.h.
    pub fn mr_probe(out: *mut mr_probe_info, err: *mut mr_error) -> mr_status;
    /// See millrace/probe.h.
    pub fn mr_device_query(index: u32, out: *mut mr_device_info, err: *mut mr_error) -> mr_status;
    /// See millrace/probe.h.
    pub fn mr_dependency(name: *const c_char, out: *mut c_char, capacity: u64, out_length: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_memory_create(config: *const mr_memory_config, out: *mut *mut mr_memory, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_memory_retain(memory: *mut mr_memory);
    /// See millrace/memory.h.
    pub fn mr_memory_release(memory: *mut mr_memory);
    /// See millrace/memory.h.
    pub fn mr_memory_allocate(memory: *mut mr_memory, stream: *mut mr_stream, bytes: u64, alignment: u64, tag: u32, out: *mut *mut c_void, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_memory_free(memory: *mut mr_memory, stream: *mut mr_stream, address: *mut c_void, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_memory_use(memory: *mut mr_memory, stream: *mut mr_stream, address: *mut c_void, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_memory_trim(memory: *mut mr_memory, target_bytes: u64, out_reserved: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_memory_set_limit(memory: *mut mr_memory, limit_bytes: u64, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_memory_get_stats(memory: *mut mr_memory, out: *mut mr_memory_stats, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_memory_reset_peaks(memory: *mut mr_memory, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_buffer_create(stream: *mut mr_stream, bytes: u64, kind: u32, tag: u32, out: *mut *mut mr_buffer, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_buffer_retain(buffer: *mut mr_buffer);
    /// See millrace/memory.h.
    pub fn mr_buffer_release(buffer: *mut mr_buffer);
    /// See millrace/memory.h.
    pub fn mr_buffer_data(buffer: *mut mr_buffer) -> *mut c_void;
    /// See millrace/memory.h.
    pub fn mr_buffer_bytes(buffer: *mut mr_buffer) -> u64;
    /// See millrace/memory.h.
    pub fn mr_buffer_use(buffer: *mut mr_buffer, stream: *mut mr_stream, err: *mut mr_error) -> mr_status;
    /// See millrace/context.h.
    pub fn mr_context_create(config: *const mr_context_config, out: *mut *mut mr_context, err: *mut mr_error) -> mr_status;
    /// See millrace/context.h.
    pub fn mr_context_retain(context: *mut mr_context);
    /// See millrace/context.h.
    pub fn mr_context_release(context: *mut mr_context);
    /// See millrace/context.h.
    pub fn mr_context_health(context: *mut mr_context, err: *mut mr_error) -> mr_status;
    /// See millrace/context.h.
    pub fn mr_context_device(context: *mut mr_context, out: *mut mr_device_info, err: *mut mr_error) -> mr_status;
    /// See millrace/context.h.
    pub fn mr_context_memory(context: *mut mr_context) -> *mut mr_memory;
    /// See millrace/context.h.
    pub fn mr_context_set_option(context: *mut mr_context, name: *const c_char, value: *const c_char, err: *mut mr_error) -> mr_status;
    /// See millrace/context.h.
    pub fn mr_context_get_option(context: *mut mr_context, name: *const c_char, out: *mut c_char, capacity: u64, out_length: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/stream.h.
    pub fn mr_stream_create(context: *mut mr_context, config: *const mr_stream_config, out: *mut *mut mr_stream, err: *mut mr_error) -> mr_status;
    /// See millrace/stream.h.
    pub fn mr_stream_wrap(context: *mut mr_context, native: *mut c_void, config: *const mr_stream_config, out: *mut *mut mr_stream, err: *mut mr_error) -> mr_status;
    /// See millrace/stream.h.
    pub fn mr_stream_retain(stream: *mut mr_stream);
    /// See millrace/stream.h.
    pub fn mr_stream_release(stream: *mut mr_stream);
    /// See millrace/stream.h.
    pub fn mr_stream_native(stream: *mut mr_stream) -> *mut c_void;
    /// See millrace/stream.h.
    pub fn mr_stream_context(stream: *mut mr_stream) -> *mut mr_context;
    /// See millrace/stream.h.
    pub fn mr_stream_query(stream: *mut mr_stream, err: *mut mr_error) -> mr_status;
    /// See millrace/stream.h.
    pub fn mr_stream_synchronize(stream: *mut mr_stream, err: *mut mr_error) -> mr_status;
    /// See millrace/stream.h.
    pub fn mr_stream_set_workspace(stream: *mut mr_stream, address: *mut c_void, bytes: u64, err: *mut mr_error) -> mr_status;
    /// See millrace/stream.h.
    pub fn mr_stream_reserve_capture(stream: *mut mr_stream, bytes: u64, err: *mut mr_error) -> mr_status;
    /// See millrace/stream.h.
    pub fn mr_stream_is_capturing(stream: *mut mr_stream, out: *mut i32, err: *mut mr_error) -> mr_status;
    /// See millrace/stream.h.
    pub fn mr_copy(stream: *mut mr_stream, to: *mut c_void, from: *const c_void, bytes: u64, direction: u32, err: *mut mr_error) -> mr_status;
    /// See millrace/stream.h.
    pub fn mr_fill(stream: *mut mr_stream, to: *mut c_void, value: u32, bytes: u64, err: *mut mr_error) -> mr_status;
    /// See millrace/stream.h.
    pub fn mr_upload(stream: *mut mr_stream, to_device: *mut c_void, from_host: *const c_void, bytes: u64, err: *mut mr_error) -> mr_status;
    /// See millrace/stream.h.
    pub fn mr_download(stream: *mut mr_stream, to_host: *mut c_void, from_device: *const c_void, bytes: u64, err: *mut mr_error) -> mr_status;
    /// See millrace/event.h.
    pub fn mr_event_create(context: *mut mr_context, flags: u32, out: *mut *mut mr_event, err: *mut mr_error) -> mr_status;
    /// See millrace/event.h.
    pub fn mr_event_wrap(context: *mut mr_context, native: *mut c_void, out: *mut *mut mr_event, err: *mut mr_error) -> mr_status;
    /// See millrace/event.h.
    pub fn mr_event_retain(event: *mut mr_event);
    /// See millrace/event.h.
    pub fn mr_event_release(event: *mut mr_event);
    /// See millrace/event.h.
    pub fn mr_event_native(event: *mut mr_event) -> *mut c_void;
    /// See millrace/event.h.
    pub fn mr_event_record(event: *mut mr_event, stream: *mut mr_stream, flags: u32, err: *mut mr_error) -> mr_status;
    /// See millrace/event.h.
    pub fn mr_stream_wait_event(stream: *mut mr_stream, event: *mut mr_event, err: *mut mr_error) -> mr_status;
    /// See millrace/event.h.
    pub fn mr_event_query(event: *mut mr_event, err: *mut mr_error) -> mr_status;
    /// See millrace/event.h.
    pub fn mr_event_synchronize(event: *mut mr_event, err: *mut mr_error) -> mr_status;
    /// See millrace/event.h.
    pub fn mr_event_elapsed(start: *mut mr_event, stop: *mut mr_event, out_milliseconds: *mut f32, err: *mut mr_error) -> mr_status;
    /// See millrace/graph.h.
    pub fn mr_graph_pool_create(context: *mut mr_context, bytes: u64, out: *mut *mut mr_graph_pool, err: *mut mr_error) -> mr_status;
    /// See millrace/graph.h.
    pub fn mr_graph_pool_retain(pool: *mut mr_graph_pool);
    /// See millrace/graph.h.
    pub fn mr_graph_pool_release(pool: *mut mr_graph_pool);
    /// See millrace/graph.h.
    pub fn mr_graph_begin(stream: *mut mr_stream, pool: *mut mr_graph_pool, err: *mut mr_error) -> mr_status;
    /// See millrace/graph.h.
    pub fn mr_graph_end(stream: *mut mr_stream, out: *mut *mut mr_graph, err: *mut mr_error) -> mr_status;
    /// See millrace/graph.h.
    pub fn mr_graph_retain(graph: *mut mr_graph);
    /// See millrace/graph.h.
    pub fn mr_graph_release(graph: *mut mr_graph);
    /// See millrace/graph.h.
    pub fn mr_graph_launch(graph: *mut mr_graph, stream: *mut mr_stream, err: *mut mr_error) -> mr_status;
    /// See millrace/ring.h.
    pub fn mr_ring_create(context: *mut mr_context, slots: u32, slot_bytes: u64, out: *mut *mut mr_ring, err: *mut mr_error) -> mr_status;
    /// See millrace/ring.h.
    pub fn mr_ring_retain(ring: *mut mr_ring);
    /// See millrace/ring.h.
    pub fn mr_ring_release(ring: *mut mr_ring);
    /// See millrace/ring.h.
    pub fn mr_ring_push(ring: *mut mr_ring, slot: u32, stream: *mut mr_stream, from: *const c_void, bytes: u64, err: *mut mr_error) -> mr_status;
    /// See millrace/ring.h.
    pub fn mr_ring_query(ring: *mut mr_ring, slot: u32, err: *mut mr_error) -> mr_status;
    /// See millrace/ring.h.
    pub fn mr_ring_wait(ring: *mut mr_ring, slot: u32, out_data: *mut *const c_void, err: *mut mr_error) -> mr_status;
    /// See millrace/embedding.h.
    pub fn mr_embedding(stream: *mut mr_stream, args: *const mr_embedding_args, err: *mut mr_error) -> mr_status;
    /// See millrace/embedding.h.
    pub fn mr_embedding_prepare(stream: *mut mr_stream, args: *const mr_embedding_args, err: *mut mr_error) -> mr_status;
    /// See millrace/embedding.h.
    pub fn mr_embedding_workspace(stream: *mut mr_stream, args: *const mr_embedding_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/embedding.h.
    pub fn mr_embedding_kernel(stream: *mut mr_stream, args: *const mr_embedding_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status;
    /// See millrace/norm.h.
    pub fn mr_rmsnorm(stream: *mut mr_stream, args: *const mr_rmsnorm_args, err: *mut mr_error) -> mr_status;
    /// See millrace/norm.h.
    pub fn mr_rmsnorm_prepare(stream: *mut mr_stream, args: *const mr_rmsnorm_args, err: *mut mr_error) -> mr_status;
    /// See millrace/norm.h.
    pub fn mr_rmsnorm_workspace(stream: *mut mr_stream, args: *const mr_rmsnorm_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/norm.h.
    pub fn mr_rmsnorm_kernel(stream: *mut mr_stream, args: *const mr_rmsnorm_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status;
    /// See millrace/elementwise.h.
    pub fn mr_add(stream: *mut mr_stream, args: *const mr_add_args, err: *mut mr_error) -> mr_status;
    /// See millrace/elementwise.h.
    pub fn mr_add_prepare(stream: *mut mr_stream, args: *const mr_add_args, err: *mut mr_error) -> mr_status;
    /// See millrace/elementwise.h.
    pub fn mr_add_workspace(stream: *mut mr_stream, args: *const mr_add_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/elementwise.h.
    pub fn mr_add_kernel(stream: *mut mr_stream, args: *const mr_add_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status;
    /// See millrace/elementwise.h.
    pub fn mr_gated_activation(stream: *mut mr_stream, args: *const mr_gated_activation_args, err: *mut mr_error) -> mr_status;
    /// See millrace/elementwise.h.
    pub fn mr_gated_activation_prepare(stream: *mut mr_stream, args: *const mr_gated_activation_args, err: *mut mr_error) -> mr_status;
    /// See millrace/elementwise.h.
    pub fn mr_gated_activation_workspace(stream: *mut mr_stream, args: *const mr_gated_activation_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/elementwise.h.
    pub fn mr_gated_activation_kernel(stream: *mut mr_stream, args: *const mr_gated_activation_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status;
    /// See millrace/rope.h.
    pub fn mr_rope(stream: *mut mr_stream, args: *const mr_rope_args, err: *mut mr_error) -> mr_status;
    /// See millrace/rope.h.
    pub fn mr_rope_prepare(stream: *mut mr_stream, args: *const mr_rope_args, err: *mut mr_error) -> mr_status;
    /// See millrace/rope.h.
    pub fn mr_rope_workspace(stream: *mut mr_stream, args: *const mr_rope_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/rope.h.
    pub fn mr_rope_kernel(stream: *mut mr_stream, args: *const mr_rope_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status;
    /// See millrace/rope.h.
    pub fn mr_qkv_post(stream: *mut mr_stream, args: *const mr_qkv_post_args, err: *mut mr_error) -> mr_status;
    /// See millrace/rope.h.
    pub fn mr_qkv_post_prepare(stream: *mut mr_stream, args: *const mr_qkv_post_args, err: *mut mr_error) -> mr_status;
    /// See millrace/rope.h.
    pub fn mr_qkv_post_workspace(stream: *mut mr_stream, args: *const mr_qkv_post_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/rope.h.
    pub fn mr_qkv_post_kernel(stream: *mut mr_stream, args: *const mr_qkv_post_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status;
    /// See millrace/attention.h.
    pub fn mr_attention(stream: *mut mr_stream, args: *const mr_attention_args, err: *mut mr_error) -> mr_status;
    /// See millrace/attention.h.
    pub fn mr_attention_prepare(stream: *mut mr_stream, args: *const mr_attention_args, err: *mut mr_error) -> mr_status;
    /// See millrace/attention.h.
    pub fn mr_attention_workspace(stream: *mut mr_stream, args: *const mr_attention_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/attention.h.
    pub fn mr_attention_kernel(stream: *mut mr_stream, args: *const mr_attention_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status;
    /// See millrace/matmul.h.
    pub fn mr_matmul(stream: *mut mr_stream, args: *const mr_matmul_args, err: *mut mr_error) -> mr_status;
    /// See millrace/matmul.h.
    pub fn mr_matmul_prepare(stream: *mut mr_stream, args: *const mr_matmul_args, err: *mut mr_error) -> mr_status;
    /// See millrace/matmul.h.
    pub fn mr_matmul_workspace(stream: *mut mr_stream, args: *const mr_matmul_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/matmul.h.
    pub fn mr_matmul_kernel(stream: *mut mr_stream, args: *const mr_matmul_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status;
    /// See millrace/matmul.h.
    pub fn mr_matmul_plan_create(context: *mut mr_context, problem: *const mr_matmul_problem, out: *mut *mut mr_matmul_plan, err: *mut mr_error) -> mr_status;
    /// See millrace/matmul.h.
    pub fn mr_matmul_plan_retain(plan: *mut mr_matmul_plan);
    /// See millrace/matmul.h.
    pub fn mr_matmul_plan_release(plan: *mut mr_matmul_plan);
    /// See millrace/matmul.h.
    pub fn mr_matmul_plan_workspace(plan: *mut mr_matmul_plan, m: i64, out_bytes: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/matmul.h.
    pub fn mr_matmul_plan_kernel(plan: *mut mr_matmul_plan, m: i64, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status;
    /// See millrace/matmul.h.
    pub fn mr_matmul_run(plan: *mut mr_matmul_plan, stream: *mut mr_stream, operands: *const mr_matmul_operands, err: *mut mr_error) -> mr_status;
    /// See millrace/sampling.h.
    pub fn mr_argmax(stream: *mut mr_stream, args: *const mr_argmax_args, err: *mut mr_error) -> mr_status;
    /// See millrace/sampling.h.
    pub fn mr_argmax_prepare(stream: *mut mr_stream, args: *const mr_argmax_args, err: *mut mr_error) -> mr_status;
    /// See millrace/sampling.h.
    pub fn mr_argmax_workspace(stream: *mut mr_stream, args: *const mr_argmax_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/sampling.h.
    pub fn mr_argmax_kernel(stream: *mut mr_stream, args: *const mr_argmax_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status;
    /// See millrace/sampling.h.
    pub fn mr_sample(stream: *mut mr_stream, args: *const mr_sample_args, err: *mut mr_error) -> mr_status;
    /// See millrace/sampling.h.
    pub fn mr_sample_prepare(stream: *mut mr_stream, args: *const mr_sample_args, err: *mut mr_error) -> mr_status;
    /// See millrace/sampling.h.
    pub fn mr_sample_workspace(stream: *mut mr_stream, args: *const mr_sample_args, out_bytes: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/sampling.h.
    pub fn mr_sample_kernel(stream: *mut mr_stream, args: *const mr_sample_args, out: *mut mr_kernel_info, err: *mut mr_error) -> mr_status;
    /// See millrace/api.h.
    pub fn mr_abi_layout(index: u32, out_struct: *mut *const c_char, out_field: *mut *const c_char, out_offset: *mut u32, out_size: *mut u32, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_memory_allocate_block(memory: *mut mr_memory, stream: *mut mr_stream, bytes: u64, alignment: u64, tag: u32, out_block: *mut mr_block, out: *mut *mut c_void, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_memory_free_block(memory: *mut mr_memory, stream: *mut mr_stream, block: mr_block, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_memory_summary(memory: *mut mr_memory, out: *mut c_char, capacity: u64, out_length: *mut u64, err: *mut mr_error) -> mr_status;
    /// See millrace/memory.h.
    pub fn mr_memory_visit(memory: *mut mr_memory, visit: mr_memory_visit_fn, user: *mut c_void, err: *mut mr_error) -> mr_status;
    /// See millrace/api.h.
    pub fn mr_get_api(major_min: u32, major_max: u32, minor_min: u32, out: *mut *const mr_api, err: *mut mr_error) -> mr_status;
}
