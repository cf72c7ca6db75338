//! Streams: copies and operators.

use crate::error::{check, slot, Error, Result};
use crate::library::Library;
use crate::memory::{Buffer, Element};
use crate::operator::Operator;
use crate::sys::*;
use std::mem::size_of_val;
use std::os::raw::c_void;
use std::ptr;

/// A queue of device work. Dropping it waits for its work.
pub struct Stream {
    pub(crate) library: Library,
    pub(crate) handle: *mut mr_stream,
}

// SAFETY: any OS thread may use a stream, one at a time (base.h, Threads); hence Send, not Sync.
unsafe impl Send for Stream {}

impl Stream {
    /// Device memory, freed in this stream's order.
    pub fn buffer(&self, bytes: u64, tag: u32) -> Result<Buffer> {
        let create = slot(self.library.api.buffer_create, "mr_buffer_create")?;
        let mut handle = ptr::null_mut();
        check(|err| unsafe {
            create(self.handle, bytes, MR_MEMORY_DEVICE, tag, &mut handle, err)
        })?;
        Ok(Buffer { library: self.library.clone(), handle, home: self.handle })
    }

    /// Copies a slice to `offset` bytes into the buffer, and waits.
    pub fn upload<T: Element>(&self, to: &Buffer, offset: u64, from: &[T]) -> Result<()> {
        let copy = slot(self.library.api.upload, "mr_upload")?;
        let (address, bytes) = self.place(to, offset, size_of_val(from) as u64)?;
        check(|err| unsafe { copy(self.handle, address, from.as_ptr().cast(), bytes, err) })
    }

    /// Fills a slice from `offset` bytes into the buffer, and waits.
    pub fn download<T: Element>(&self, to: &mut [T], from: &Buffer, offset: u64) -> Result<()> {
        let copy = slot(self.library.api.download, "mr_download")?;
        let (address, bytes) = self.place(from, offset, size_of_val(to) as u64)?;
        check(|err| unsafe { copy(self.handle, to.as_mut_ptr().cast(), address, bytes, err) })
    }

    /// Sets every byte of the buffer in stream order.
    pub fn fill(&self, buffer: &Buffer, value: u8) -> Result<()> {
        let fill = slot(self.library.api.fill, "mr_fill")?;
        let (address, bytes) = self.place(buffer, 0, buffer.bytes())?;
        check(|err| unsafe { fill(self.handle, address, value.into(), bytes, err) })
    }

    /// Copies the whole of `from` over the start of `to` in stream order.
    pub fn copy(&self, to: &Buffer, from: &Buffer) -> Result<()> {
        let copy = slot(self.library.api.copy, "mr_copy")?;
        let (source, bytes) = self.place(from, 0, from.bytes())?;
        let (target, _) = self.place(to, 0, bytes)?;
        check(|err| unsafe {
            copy(self.handle, target, source, bytes, MR_COPY_ON_DEVICE, err)
        })
    }

    /// Enqueues the operator that `args` belongs to.
    ///
    /// # Safety
    /// The tensors must describe memory that is valid until the stream has passed the call, used
    /// nowhere else in a conflicting way, and declared with [`Buffer::used_on`] where it is freed in
    /// another stream's order.
    pub unsafe fn enqueue<A: Operator>(&self, args: &A) -> Result<()> {
        let enqueue = slot(A::enqueue(&self.library.api), A::NAME)?;
        check(|err| enqueue(self.handle, args, err))
    }

    /// Loads and searches what enqueuing such a call needs.
    ///
    /// # Safety
    /// As [`Stream::enqueue`].
    pub unsafe fn prepare<A: Operator>(&self, args: &A) -> Result<()> {
        let prepare = slot(A::prepare(&self.library.api), A::NAME)?;
        check(|err| prepare(self.handle, args, err))
    }

    /// The scratch that such a call takes from the stream. Data addresses are not used.
    pub fn workspace<A: Operator>(&self, args: &A) -> Result<u64> {
        let ask = slot(A::workspace(&self.library.api), A::NAME)?;
        let mut bytes = 0;
        check(|err| unsafe { ask(self.handle, args, &mut bytes, err) })?;
        Ok(bytes)
    }

    /// Which kernel such a call would run. Data addresses are only tested for alignment.
    pub fn kernel<A: Operator>(&self, args: &A) -> Result<mr_kernel_info> {
        let ask = slot(A::kernel(&self.library.api), A::NAME)?;
        let mut info = mr_kernel_info::INIT;
        check(|err| unsafe { ask(self.handle, args, &mut info, err) })?;
        Ok(info)
    }

    pub fn synchronize(&self) -> Result<()> {
        let wait = slot(self.library.api.stream_synchronize, "mr_stream_synchronize")?;
        check(|err| unsafe { wait(self.handle, err) })
    }

    pub fn as_raw(&self) -> *mut mr_stream {
        self.handle
    }

    /// Checks a range of a buffer and declares the buffer's use on this stream.
    fn place(&self, buffer: &Buffer, offset: u64, bytes: u64) -> Result<(*mut c_void, u64)> {
        let size = buffer.bytes();
        if offset > size || bytes > size - offset {
            let range = format!("{bytes} bytes at offset {offset}");
            return Err(Error::invalid(format!("{range} leave the buffer of {size}")));
        }
        buffer.used_on(self)?;
        let address = buffer.data().cast::<u8>().wrapping_add(offset as usize);
        Ok((address.cast(), bytes))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(release) = self.library.api.stream_release {
            unsafe { release(self.handle) };
        }
    }
}
