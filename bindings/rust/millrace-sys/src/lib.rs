//! millrace's C interface as it is: same names, same layouts, nothing added but [`open`].
//!
//! The declarations are generated from `include/millrace`, whose comments are the documentation.
//! Structs that a caller fills start from their `INIT` constant or `Default`.
//!
//! With the feature `link` (the default) the functions are declared and libmillrace is linked.
//! Without it a program opens the library when it runs, with [`open`], and calls through the table.

#![allow(non_camel_case_types)]

mod abi;
mod open;

pub use abi::*;
pub use open::{full_table, open};
