//! Who may drop what, when, on which thread. Every test runs with host streams that run inline and
//! with ones that have a thread of their own.

use millrace::{sys, tensor, Buffer, Context, ContextOptions, Library, Stream};
use std::sync::{Arc, Mutex};
use std::thread;

fn on_both_kinds(test: impl Fn(Context)) {
    for kind in ["inline", "deferred"] {
        let options = format!("host.streams={kind}");
        let host = ContextOptions { backend: sys::MR_BACKEND_HOST, ordinal: 0, options };
        test(Library::open(None).unwrap().context(&host).unwrap());
    }
}

fn normalise(stream: &Stream, buffer: &Buffer) {
    buffer.used_on(stream).unwrap();
    let rows = tensor(buffer.data(), sys::MR_F32, &[1, buffer.bytes() as i64 / 4]);
    let args = sys::mr_rmsnorm_args { input: rows, output: rows, ..Default::default() };
    // SAFETY: the buffer is alive and its use is declared.
    unsafe { stream.enqueue(&args).unwrap() };
}

fn floats(stream: &Stream, buffer: &Buffer) -> Vec<f32> {
    let mut values = vec![0.0; buffer.bytes() as usize / 4];
    stream.download(&mut values, buffer, 0).unwrap();
    values
}

/// Enqueues a copy behind work that keeps the stream busy for a while.
fn copy_late(stream: &Stream, target: &Buffer, source: &Buffer) {
    for _ in 0..8 {
        stream.fill(target, 7).unwrap();
    }
    stream.copy(target, source).unwrap();
}

/// The types carry the header's thread rules: this compiles, and a `Sync` stream would not.
#[test]
fn thread_rules_are_in_the_types() {
    fn shared<T: Send + Sync>() {}
    fn moved<T: Send>() {}
    shared::<Context>();
    shared::<Buffer>();
    moved::<Stream>();
}

/// Case B07: one context and 8 buffers move through 8 threads for 1000 operations; the context handle
/// is dropped first, the buffers later.
#[test]
fn objects_move_between_threads() {
    on_both_kinds(|context| {
        let stream = context.stream().unwrap();
        let buffers: Vec<Buffer> = (0..8)
            .map(|i| {
                let buffer = stream.buffer(64, sys::MR_TAG_OTHER).unwrap();
                stream.upload(&buffer, 0, &[i as f32 + 2.0; 16]).unwrap();
                buffer
            })
            .collect();
        // Each piece of work takes whatever stream and buffer it finds, on whatever thread.
        let state = Arc::new(Mutex::new((Some(context), stream, 0usize, 0x2545_F491u32)));
        let buffers = Arc::new(buffers);
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (state, buffers) = (Arc::clone(&state), Arc::clone(&buffers));
                thread::spawn(move || loop {
                    let mut guard = state.lock().unwrap();
                    let (context, stream, count, random) = &mut *guard;
                    if *count == 1000 {
                        return;
                    }
                    *count += 1;
                    *random ^= *random << 13;
                    *random ^= *random >> 17;
                    *random ^= *random << 5;
                    normalise(stream, &buffers[*random as usize % 8]);
                    if *count == 500 {
                        *context = None;
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let (_, stream, _, _) = Arc::try_unwrap(state).ok().unwrap().into_inner().unwrap();
        for buffer in buffers.iter() {
            for value in floats(&stream, buffer) {
                assert!((value - 1.0).abs() < 1e-5, "{value}");
            }
        }
        drop(stream);
        drop(buffers); // after everything else
    });
}

/// Case B03: the last reference to the source of a queued copy goes; its memory is not handed out
/// again, to the same stream or another, before the copy has read it.
#[test]
fn a_buffer_dropped_early_is_read_first() {
    const BYTES: u64 = 8 << 20;
    on_both_kinds(|context| {
        let (stream, other) = (context.stream().unwrap(), context.stream().unwrap());
        let target = stream.buffer(BYTES, sys::MR_TAG_OTHER).unwrap();
        for next in [&stream, &other, &stream, &other] {
            let source = stream.buffer(BYTES, sys::MR_TAG_OTHER).unwrap();
            stream.fill(&source, 0).unwrap();
            stream.synchronize().unwrap();
            copy_late(&stream, &target, &source);
            drop(source);
            let again = next.buffer(BYTES, sys::MR_TAG_OTHER).unwrap();
            next.fill(&again, 9).unwrap();
            assert!(floats(&stream, &target).iter().all(|value| *value == 0.0));
        }
    });
}

/// Case B04: the last use was on another stream than the one the buffer was made on.
#[test]
fn a_buffer_last_used_on_another_stream_is_read_first() {
    const BYTES: u64 = 8 << 20;
    on_both_kinds(|context| {
        let (home, other) = (context.stream().unwrap(), context.stream().unwrap());
        let target = other.buffer(BYTES, sys::MR_TAG_OTHER).unwrap();
        for _ in 0..5 {
            let source = home.buffer(BYTES, sys::MR_TAG_OTHER).unwrap();
            home.fill(&source, 0).unwrap();
            home.synchronize().unwrap();
            copy_late(&other, &target, &source);
            drop(source);
            let again = home.buffer(BYTES, sys::MR_TAG_OTHER).unwrap();
            home.fill(&again, 9).unwrap();
            assert!(floats(&other, &target).iter().all(|value| *value == 0.0));
        }
    });
}

/// Case B04, second half: a stream of another context is refused or served, never misused, and the
/// buffer is still the caller's.
#[test]
fn a_stream_of_another_context_leaves_the_buffer_usable() {
    on_both_kinds(|context| {
        let stream = context.stream().unwrap();
        let buffer = stream.buffer(16, sys::MR_TAG_OTHER).unwrap();
        stream.upload(&buffer, 0, &[5.0f32; 4]).unwrap();
        on_both_kinds(|foreign| {
            let far = foreign.stream().unwrap();
            if let Err(error) = buffer.used_on(&far) {
                assert_eq!(error.code, sys::MR_INVALID_ARGUMENT);
            }
        });
        assert_eq!(floats(&stream, &buffer), [5.0; 4]);
    });
}

/// Parents first: what is left works, and the memory comes back when the last piece goes.
#[test]
fn objects_may_be_dropped_parents_first() {
    on_both_kinds(|context| {
        let memory = context.memory().unwrap();
        let before = memory.stats().unwrap().requested.current;
        let stream = context.stream().unwrap();
        drop(context);
        let with_stream = memory.stats().unwrap().requested.current; // streams have scratch
        let buffer = stream.buffer(4096, sys::MR_TAG_OTHER).unwrap();
        stream.fill(&buffer, 0).unwrap();
        let shared = buffer.clone();
        drop(buffer);
        assert_eq!(memory.stats().unwrap().requested.current, with_stream + 4096);
        assert!(floats(&stream, &shared).iter().all(|value| *value == 0.0));
        drop(stream);
        drop(shared);
        assert_eq!(memory.stats().unwrap().requested.current, before);
    });
}

/// A refused call is an error with code and text.
#[test]
fn failures_carry_code_and_text() {
    on_both_kinds(|context| {
        let stream = context.stream().unwrap();
        let absent = sys::mr_rmsnorm_args::default();
        // SAFETY: there is no tensor to be invalid.
        let error = unsafe { stream.enqueue(&absent) }.unwrap_err();
        assert_eq!(error.code, sys::MR_INVALID_ARGUMENT);
        assert!(!error.text.is_empty());
        let buffer = stream.buffer(8, sys::MR_TAG_OTHER).unwrap();
        let error = stream.upload(&buffer, 4, &[0.0f32; 2]).unwrap_err();
        assert_eq!(error.text, "8 bytes at offset 4 leave the buffer of 8");
    });
}
