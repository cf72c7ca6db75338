//! Failures of the library.

use crate::sys::*;
use std::ffi::CStr;
use std::fmt;

/// A failed call: the library's code and its sentence, which names argument, value and limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// `MR_INVALID_ARGUMENT` and so on.
    pub code: mr_status,
    /// `MR_DOMAIN_...`: where `native_code` comes from.
    pub domain: u32,
    pub native_code: i32,
    /// `MR_ERROR_...`
    pub flags: u32,
    pub text: String,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn missing(function: &str) -> Error {
        let text = format!("{function}: the library that is open does not have this function");
        Error { code: MR_UNSUPPORTED, domain: MR_DOMAIN_MILLRACE, native_code: 0, flags: 0, text }
    }

    pub(crate) fn invalid(text: String) -> Error {
        Error { code: MR_INVALID_ARGUMENT, ..Error::missing("") }.with_text(text)
    }

    fn with_text(self, text: String) -> Error {
        Error { text, ..self }
    }
}

impl From<&mr_error> for Error {
    fn from(error: &mr_error) -> Error {
        // SAFETY: the library terminates the text within the array.
        let text = unsafe { CStr::from_ptr(error.text.as_ptr()) };
        Error {
            code: error.code,
            domain: error.domain,
            native_code: error.native_code,
            flags: error.flags,
            text: text.to_string_lossy().into_owned(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "millrace error {}: {}", self.code, self.text)
    }
}

impl std::error::Error for Error {}

/// Runs a call that ends in an `mr_error` and turns its status into a result.
pub(crate) fn check(call: impl FnOnce(*mut mr_error) -> mr_status) -> Result<()> {
    let mut error = mr_error::INIT;
    match call(&mut error) {
        MR_OK => Ok(()),
        _ => Err(Error::from(&error)),
    }
}

/// The function in a slot, or the error for a library that lacks it.
pub(crate) fn slot<F>(slot: Option<F>, function: &str) -> Result<F> {
    slot.ok_or_else(|| Error::missing(function))
}
