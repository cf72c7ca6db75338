//! A safe layer over millrace's C interface.
//!
//! Objects are counted references that may be dropped in any order, on any thread: the library keeps
//! what they depend on alive. What is safe is what the types can guarantee. [`Context`], [`Memory`]
//! and [`Buffer`] are `Send + Sync`; a [`Stream`] is `Send` but not `Sync`, since one caller at a time
//! may use it. Copies between slices and buffers are safe. Operators take raw device addresses, so
//! [`Stream::enqueue`] is `unsafe`; its contract is the comment of the operator's C header.
//!
//! ```no_run
//! # fn main() -> millrace::Result<()> {
//! let library = millrace::Library::open(None)?;
//! let context = library.context(&millrace::ContextOptions::default())?;
//! let stream = context.stream()?;
//! let buffer = stream.buffer(4096, millrace::sys::MR_TAG_OTHER)?;
//! stream.upload(&buffer, 0, &[1.0f32; 1024])?;
//! # Ok(()) }
//! ```

mod error;
mod library;
mod memory;
mod operator;
mod operators;
mod stream;

pub use error::{Error, Result};
pub use library::{Context, ContextOptions, Library};
pub use memory::{tensor, Buffer, Element, Memory};
pub use millrace_sys as sys;
pub use operator::Operator;
pub use stream::Stream;
