//! The open library and the contexts made from it.

use crate::error::{check, slot, Error, Result};
use crate::memory::Memory;
use crate::stream::Stream;
use crate::sys::*;
use std::ffi::CString;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

/// The library: its function table, shared by everything that is made from it.
#[derive(Clone)]
pub struct Library {
    pub(crate) api: Arc<mr_api>,
}

impl Library {
    /// Opens it at run time; see [`millrace_sys::open`] for the places.
    pub fn open(path: Option<&Path>) -> Result<Library> {
        let api = millrace_sys::open(path).map_err(|error| Error::from(&*error))?;
        Ok(Library { api: Arc::new(api) })
    }

    /// The library that the program is linked with.
    #[cfg(feature = "link")]
    pub fn linked() -> Result<Library> {
        let mut table = ptr::null();
        check(|err| unsafe {
            mr_get_api(MR_ABI_MAJOR, MR_ABI_MAJOR, MR_ABI_MINOR, &mut table, err)
        })?;
        // SAFETY: the table comes from mr_get_api.
        Ok(Library { api: Arc::new(unsafe { full_table(table) }) })
    }

    /// The table, for what this crate does not wrap.
    pub fn api(&self) -> &mr_api {
        &self.api
    }

    pub fn context(&self, options: &ContextOptions) -> Result<Context> {
        let text = CString::new(options.options.as_str())
            .map_err(|_| Error::invalid("options: hold a NUL byte".to_string()))?;
        let config = mr_context_config {
            backend: options.backend,
            ordinal: options.ordinal,
            options: text.as_ptr(),
            ..mr_context_config::INIT
        };
        let create = slot(self.api.context_create, "mr_context_create")?;
        let mut handle = ptr::null_mut();
        check(|err| unsafe { create(&config, &mut handle, err) })?;
        Ok(Context { library: self.clone(), handle })
    }
}

/// How to make a context; the default asks for the best device there is.
#[derive(Clone, Debug, Default)]
pub struct ContextOptions {
    /// `MR_BACKEND_...`
    pub backend: u32,
    pub ordinal: i32,
    /// `"name=value;name=value"`, see millrace/context.h.
    pub options: String,
}

/// A device made ready for work. Cloning shares it.
pub struct Context {
    pub(crate) library: Library,
    pub(crate) handle: *mut mr_context,
}

// SAFETY: contexts may be used from any thread at once (base.h, Threads).
unsafe impl Send for Context {}
unsafe impl Sync for Context {}

impl Context {
    /// A stream of the library's own.
    pub fn stream(&self) -> Result<Stream> {
        let create = slot(self.library.api.stream_create, "mr_stream_create")?;
        let mut handle = ptr::null_mut();
        check(|err| unsafe { create(self.handle, ptr::null(), &mut handle, err) })?;
        Ok(Stream { library: self.library.clone(), handle })
    }

    pub fn memory(&self) -> Result<Memory> {
        let borrow = slot(self.library.api.context_memory, "mr_context_memory")?;
        let retain = slot(self.library.api.memory_retain, "mr_memory_retain")?;
        // SAFETY: borrowed from a live context, then retained.
        unsafe {
            let handle = borrow(self.handle);
            retain(handle);
            Ok(Memory { library: self.library.clone(), handle })
        }
    }

    pub fn as_raw(&self) -> *mut mr_context {
        self.handle
    }
}

impl Clone for Context {
    fn clone(&self) -> Context {
        if let Some(retain) = self.library.api.context_retain {
            unsafe { retain(self.handle) };
        }
        Context { library: self.library.clone(), handle: self.handle }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Some(release) = self.library.api.context_release {
            unsafe { release(self.handle) };
        }
    }
}
