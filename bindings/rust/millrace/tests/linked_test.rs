//! With the feature `link` the program has the library without opening it.

use millrace::{sys, ContextOptions, Library};

#[test]
fn the_linked_library_works_like_an_opened_one() {
    let library = Library::linked().unwrap();
    assert_eq!(unsafe { sys::mr_version() }, unsafe { library.api().version.unwrap()() });
    let host = ContextOptions { backend: sys::MR_BACKEND_HOST, ..Default::default() };
    let stream = library.context(&host).unwrap().stream().unwrap();
    let buffer = stream.buffer(16, sys::MR_TAG_OTHER).unwrap();
    stream.upload(&buffer, 0, &[1u32, 2, 3, 4]).unwrap();
    let mut back = [0u32; 2];
    stream.download(&mut back, &buffer, 8).unwrap();
    assert_eq!(back, [3, 4]);
}
