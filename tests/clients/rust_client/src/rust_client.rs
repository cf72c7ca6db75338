//! The smallest useful Rust program: open the library, agree on a version, normalise two rows on the
//! host, look at the result and at the memory figures. Exits with 1 if anything is wrong.

use millrace::{sys, tensor, ContextOptions, Library};

fn main() -> millrace::Result<()> {
    let library = Library::open(None)?; // checks the ABI version; MILLRACE_LIBRARY or the system's path
    let host = ContextOptions { backend: sys::MR_BACKEND_HOST, ..Default::default() };
    let context = library.context(&host)?;
    let stream = context.stream()?;
    let mut values = [3.0f32, -3.0, 3.0, -3.0, 1.0, 1.0, 1.0, 1.0];
    let buffer = stream.buffer(32, sys::MR_TAG_ACTIVATIONS)?;
    stream.upload(&buffer, 0, &values)?;

    let rows = tensor(buffer.data(), sys::MR_F32, &[2, 4]);
    let args = sys::mr_rmsnorm_args { input: rows, output: rows, ..Default::default() };
    unsafe { stream.enqueue(&args)? }; // sound: the buffer outlives the download below

    stream.download(&mut values, &buffer, 0)?;
    let wanted = [1.0f32, -1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0]; // |x| is the root mean square
    assert!(values.iter().zip(wanted).all(|(x, y)| (x - y).abs() < 1e-6), "{values:?}");
    let stats = context.memory()?.stats()?;
    let allocated = stats.tags[sys::MR_TAG_ACTIVATIONS as usize].current; // 32 bytes, as a block
    assert!((32..=stats.allocated.current).contains(&allocated), "{stats:?}");
    let (major, minor) = (library.api().abi_major, library.api().abi_minor);
    println!("rust: ABI {major}.{minor}, {allocated} bytes allocated");
    Ok(())
}
