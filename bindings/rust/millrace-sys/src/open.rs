//! Opening the library at run time.

use crate::abi::*;
use std::env;
use std::ffi::{CStr, CString};
use std::mem::{size_of, MaybeUninit};
use std::os::raw::{c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::{ptr, slice};

extern "C" {
    fn dlopen(file: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *mut c_char;
}

// Linux and the BSDs agree on the first; RTLD_LOCAL is 0.
const RTLD_NOW: c_int = 2;

/// Finds the library, checks its ABI version, and returns its table.
///
/// The places, of which the first that applies counts: `path`; the environment variable
/// `MILLRACE_LIBRARY`; `libmillrace.so.0` beside the program, if there is such a file; the system's
/// search path. The current directory is never searched. The library stays in memory for good.
pub fn open(path: Option<&Path>) -> Result<mr_api, Box<mr_error>> {
    let file = path.map(Path::to_path_buf).unwrap_or_else(default_file);
    let name = CString::new(file.to_string_lossy().as_bytes())
        .map_err(|_| refuse(MR_INVALID_ARGUMENT, "path: holds a NUL byte"))?;
    // SAFETY: the names are NUL-terminated; the symbol has the type that api.h gives it.
    unsafe {
        let handle = dlopen(name.as_ptr(), RTLD_NOW);
        if handle.is_null() {
            return Err(refuse(MR_DEPENDENCY_MISSING, &last_error(&file)));
        }
        let symbol = dlsym(handle, b"mr_get_api\0".as_ptr().cast());
        if symbol.is_null() {
            return Err(refuse(MR_DEPENDENCY_MISSING, &last_error(&file)));
        }
        let get_api: mr_get_api_fn = std::mem::transmute(symbol);
        let mut table = ptr::null();
        let mut error = mr_error::INIT;
        let minor = if MR_ABI_MAJOR == 0 { MR_ABI_MINOR } else { 0 };
        if get_api(MR_ABI_MAJOR, MR_ABI_MAJOR, minor, &mut table, &mut error) != MR_OK {
            return Err(Box::new(error));
        }
        Ok(full_table(table))
    }
}

/// A copy of a library's table as large as this crate's: slots that the library lacks are `None`.
///
/// # Safety
/// `table` must come from `mr_get_api`.
pub unsafe fn full_table(table: *const mr_api) -> mr_api {
    let mut copy = MaybeUninit::<mr_api>::zeroed();
    let size = ((*table).struct_size as usize).min(size_of::<mr_api>());
    let from = slice::from_raw_parts(table.cast::<u8>(), size);
    ptr::copy_nonoverlapping(from.as_ptr(), copy.as_mut_ptr().cast::<u8>(), size);
    copy.assume_init()
}

fn default_file() -> PathBuf {
    let soname = format!("libmillrace.so.{MR_ABI_MAJOR}");
    if let Some(named) = env::var_os("MILLRACE_LIBRARY").filter(|named| !named.is_empty()) {
        return named.into();
    }
    let beside = env::current_exe().ok().map(|program| program.with_file_name(&soname));
    beside.filter(|file| file.exists()).unwrap_or_else(|| soname.into())
}

unsafe fn last_error(file: &Path) -> String {
    let text = dlerror();
    if text.is_null() {
        return format!("{}: cannot be loaded", file.display());
    }
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

fn refuse(code: mr_status, text: &str) -> Box<mr_error> {
    let mut error = Box::new(mr_error { code, ..mr_error::INIT });
    let room = error.text.len() - 1;
    for (to, from) in error.text[..room].iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
    error
}
