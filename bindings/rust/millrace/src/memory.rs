//! Memory, buffers and tensors.

use crate::error::{check, slot, Result};
use crate::library::Library;
use crate::stream::Stream;
use crate::sys::*;
use std::os::raw::c_void;

/// Types that tensors hold and that any bytes are a value of.
///
/// # Safety
/// The type has no padding and no invalid bit patterns, and `DTYPE` describes it.
pub unsafe trait Element: Copy {
    const DTYPE: mr_dtype;
}

macro_rules! element {
    ($($rust:ty => $dtype:ident),*) => {
        $(unsafe impl Element for $rust { const DTYPE: mr_dtype = $dtype; })*
    };
}
element!(i8 => MR_I8, i32 => MR_I32, i64 => MR_I64, u8 => MR_U8, u32 => MR_U32, u64 => MR_U64,
         f32 => MR_F32, f64 => MR_F64);

/// An allocator of one device and its figures.
pub struct Memory {
    pub(crate) library: Library,
    pub(crate) handle: *mut mr_memory,
}

// SAFETY: memories may be used from any thread at once (base.h, Threads).
unsafe impl Send for Memory {}
unsafe impl Sync for Memory {}

impl Memory {
    pub fn stats(&self) -> Result<mr_memory_stats> {
        let read = slot(self.library.api.memory_get_stats, "mr_memory_get_stats")?;
        let mut stats = mr_memory_stats::INIT;
        check(|err| unsafe { read(self.handle, &mut stats, err) })?;
        Ok(stats)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(release) = self.library.api.memory_release {
            unsafe { release(self.handle) };
        }
    }
}

/// Device memory that is freed in the order of the stream it was made on. Cloning shares it.
///
/// The safe methods of [`Stream`] declare their use of a buffer to the library, so dropping one while
/// work on any stream still uses it is safe. An operator that uses it on another stream than its own
/// needs [`Buffer::used_on`] before.
pub struct Buffer {
    pub(crate) library: Library,
    pub(crate) handle: *mut mr_buffer,
    pub(crate) home: *mut mr_stream, // only compared, never used
}

// SAFETY: a buffer is an address and a count; the library locks where it must (memory.h).
unsafe impl Send for Buffer {}
unsafe impl Sync for Buffer {}

impl Buffer {
    /// The device address; on the host backend it may be read and written when the stream is idle.
    pub fn data(&self) -> *mut c_void {
        match self.library.api.buffer_data {
            Some(data) => unsafe { data(self.handle) },
            None => std::ptr::null_mut(),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.library.api.buffer_bytes.map_or(0, |bytes| unsafe { bytes(self.handle) })
    }

    /// Declares that `stream` works with the buffer too.
    pub fn used_on(&self, stream: &Stream) -> Result<()> {
        if stream.handle == self.home {
            return Ok(());
        }
        let declare = slot(self.library.api.buffer_use, "mr_buffer_use")?;
        check(|err| unsafe { declare(self.handle, stream.handle, err) })
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Buffer {
        if let Some(retain) = self.library.api.buffer_retain {
            unsafe { retain(self.handle) };
        }
        Buffer { library: self.library.clone(), handle: self.handle, home: self.home }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(release) = self.library.api.buffer_release {
            unsafe { release(self.handle) };
        }
    }
}

/// A row-major tensor at an address. More than `MR_MAX_RANK` dimensions panic.
pub fn tensor(data: *mut c_void, dtype: mr_dtype, shape: &[i64]) -> mr_tensor {
    let mut tensor = mr_tensor { data, dtype, rank: shape.len() as i32, ..mr_tensor::INIT };
    tensor.shape[..shape.len()].copy_from_slice(shape);
    let mut stride = 1i64;
    for (to, size) in tensor.strides[..shape.len()].iter_mut().zip(shape).rev() {
        *to = stride;
        stride = stride.saturating_mul(*size);
    }
    tensor
}
