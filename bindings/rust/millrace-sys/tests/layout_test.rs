//! Case B06: the crate's structs have the layout that the library was compiled with.

#[path = "layout_table.rs"]
mod layout_table;

use std::ffi::CStr;
use std::ptr;

#[test]
fn every_struct_and_field_is_where_the_library_has_it() {
    let api = millrace_sys::open(None).expect("MILLRACE_LIBRARY names the library");
    let entry = api.abi_layout.expect("mr_abi_layout");
    let ours = layout_table::layout();
    for (index, (struct_name, field_name, offset, size)) in ours.iter().enumerate() {
        let (mut s, mut f) = (ptr::null(), ptr::null());
        let (mut o, mut n) = (u32::MAX, u32::MAX);
        let theirs = unsafe {
            let status = entry(index as u32, &mut s, &mut f, &mut o, &mut n, ptr::null_mut());
            assert_eq!(status, millrace_sys::MR_OK, "{struct_name}.{field_name}");
            (CStr::from_ptr(s).to_str().unwrap(), CStr::from_ptr(f).to_str().unwrap(), o, n)
        };
        assert_eq!(theirs, (*struct_name, *field_name, *offset as u32, *size as u32));
    }
    let (past, none) = (ours.len() as u32, ptr::null_mut());
    let status = unsafe {
        entry(past, ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), none)
    };
    assert_eq!(status, millrace_sys::MR_INVALID_ARGUMENT, "the library has more entries");
}

#[test]
fn frozen_structs_have_their_documented_size() {
    use std::mem::size_of;
    assert_eq!(size_of::<millrace_sys::mr_tensor>(), 128);
    assert_eq!(size_of::<millrace_sys::mr_error>(), 512);
    assert_eq!(size_of::<millrace_sys::mr_rope_config>(), 64);
}
