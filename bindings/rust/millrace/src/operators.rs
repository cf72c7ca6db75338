// Written by bindings/generate.py from include/millrace; edit the headers instead.

use crate::operator::{Enqueue, Kernel, Operator, Workspace};
use millrace_sys::*;

impl Operator for mr_embedding_args {
    const NAME: &'static str = "mr_embedding";
    fn enqueue(api: &mr_api) -> Enqueue<Self> {
        api.embedding
    }
    fn prepare(api: &mr_api) -> Enqueue<Self> {
        api.embedding_prepare
    }
    fn workspace(api: &mr_api) -> Workspace<Self> {
        api.embedding_workspace
    }
    fn kernel(api: &mr_api) -> Kernel<Self> {
        api.embedding_kernel
    }
}

impl Operator for mr_rmsnorm_args {
    const NAME: &'static str = "mr_rmsnorm";
    fn enqueue(api: &mr_api) -> Enqueue<Self> {
        api.rmsnorm
    }
    fn prepare(api: &mr_api) -> Enqueue<Self> {
        api.rmsnorm_prepare
    }
    fn workspace(api: &mr_api) -> Workspace<Self> {
        api.rmsnorm_workspace
    }
    fn kernel(api: &mr_api) -> Kernel<Self> {
        api.rmsnorm_kernel
    }
}

impl Operator for mr_add_args {
    const NAME: &'static str = "mr_add";
    fn enqueue(api: &mr_api) -> Enqueue<Self> {
        api.add
    }
    fn prepare(api: &mr_api) -> Enqueue<Self> {
        api.add_prepare
    }
    fn workspace(api: &mr_api) -> Workspace<Self> {
        api.add_workspace
    }
    fn kernel(api: &mr_api) -> Kernel<Self> {
        api.add_kernel
    }
}

impl Operator for mr_gated_activation_args {
    const NAME: &'static str = "mr_gated_activation";
    fn enqueue(api: &mr_api) -> Enqueue<Self> {
        api.gated_activation
    }
    fn prepare(api: &mr_api) -> Enqueue<Self> {
        api.gated_activation_prepare
    }
    fn workspace(api: &mr_api) -> Workspace<Self> {
        api.gated_activation_workspace
    }
    fn kernel(api: &mr_api) -> Kernel<Self> {
        api.gated_activation_kernel
    }
}

impl Operator for mr_rope_args {
    const NAME: &'static str = "mr_rope";
    fn enqueue(api: &mr_api) -> Enqueue<Self> {
        api.rope
    }
    fn prepare(api: &mr_api) -> Enqueue<Self> {
        api.rope_prepare
    }
    fn workspace(api: &mr_api) -> Workspace<Self> {
        api.rope_workspace
    }
    fn kernel(api: &mr_api) -> Kernel<Self> {
        api.rope_kernel
    }
}

impl Operator for mr_qkv_post_args {
    const NAME: &'static str = "mr_qkv_post";
    fn enqueue(api: &mr_api) -> Enqueue<Self> {
        api.qkv_post
    }
    fn prepare(api: &mr_api) -> Enqueue<Self> {
        api.qkv_post_prepare
    }
    fn workspace(api: &mr_api) -> Workspace<Self> {
        api.qkv_post_workspace
    }
    fn kernel(api: &mr_api) -> Kernel<Self> {
        api.qkv_post_kernel
    }
}

impl Operator for mr_attention_args {
    const NAME: &'static str = "mr_attention";
    fn enqueue(api: &mr_api) -> Enqueue<Self> {
        api.attention
    }
    fn prepare(api: &mr_api) -> Enqueue<Self> {
        api.attention_prepare
    }
    fn workspace(api: &mr_api) -> Workspace<Self> {
        api.attention_workspace
    }
    fn kernel(api: &mr_api) -> Kernel<Self> {
        api.attention_kernel
    }
}

impl Operator for mr_matmul_args {
    const NAME: &'static str = "mr_matmul";
    fn enqueue(api: &mr_api) -> Enqueue<Self> {
        api.matmul
    }
    fn prepare(api: &mr_api) -> Enqueue<Self> {
        api.matmul_prepare
    }
    fn workspace(api: &mr_api) -> Workspace<Self> {
        api.matmul_workspace
    }
    fn kernel(api: &mr_api) -> Kernel<Self> {
        api.matmul_kernel
    }
}

impl Operator for mr_argmax_args {
    const NAME: &'static str = "mr_argmax";
    fn enqueue(api: &mr_api) -> Enqueue<Self> {
        api.argmax
    }
    fn prepare(api: &mr_api) -> Enqueue<Self> {
        api.argmax_prepare
    }
    fn workspace(api: &mr_api) -> Workspace<Self> {
        api.argmax_workspace
    }
    fn kernel(api: &mr_api) -> Kernel<Self> {
        api.argmax_kernel
    }
}

impl Operator for mr_sample_args {
    const NAME: &'static str = "mr_sample";
    fn enqueue(api: &mr_api) -> Enqueue<Self> {
        api.sample
    }
    fn prepare(api: &mr_api) -> Enqueue<Self> {
        api.sample_prepare
    }
    fn workspace(api: &mr_api) -> Workspace<Self> {
        api.sample_workspace
    }
    fn kernel(api: &mr_api) -> Kernel<Self> {
        api.sample_kernel
    }
}
