//! What ties an argument struct to its operator.

use crate::sys::*;

pub type Enqueue<A> =
    Option<unsafe extern "C" fn(*mut mr_stream, *const A, *mut mr_error) -> mr_status>;
pub type Workspace<A> =
    Option<unsafe extern "C" fn(*mut mr_stream, *const A, *mut u64, *mut mr_error) -> mr_status>;
pub type Kernel<A> = Option<
    unsafe extern "C" fn(*mut mr_stream, *const A, *mut mr_kernel_info, *mut mr_error) -> mr_status,
>;

/// An argument struct such as `mr_rmsnorm_args`, with the slots of its operator.
pub trait Operator: Sized {
    const NAME: &'static str;
    fn enqueue(api: &mr_api) -> Enqueue<Self>;
    fn prepare(api: &mr_api) -> Enqueue<Self>;
    fn workspace(api: &mr_api) -> Workspace<Self>;
    fn kernel(api: &mr_api) -> Kernel<Self>;
}
