//! The buffers of reads.

use std::ops::DerefMut;

/// Memory that a read fills, with its owner: a `Vec<u8>`, a `Box<[u8]>`, an [`AlignedBuffer`](crate::files::AlignedBuffer) for
/// files that are open with `O_DIRECT`, a `bytes::BytesMut`, a mapping, a `&'static mut [u8]`.
///
/// All types that deref to bytes and can be sent to another thread are buffers. A read derefs a buffer before each of its
/// calls, and borrows it until that call has ended. A buffer must deref to as many bytes each time: if it does not, the
/// counts of the transfer are wrong, or it panics.
///
/// # Examples
///
/// The first two blocks of a file, past the page cache:
///
/// ```
/// use std::fs::File;
/// use std::io;
/// use vectored::uring::Ring;
/// use vectored::files::{AlignedBuffer, DirectAlignment};
///
/// /// `file` is open with `O_DIRECT`.
/// fn read_two_blocks(file: File, block_bytes: usize) -> io::Result<Vec<AlignedBuffer>> {
///     let alignment = DirectAlignment::of(&file)?;
///     let block = || AlignedBuffer::zeroed(block_bytes, alignment.memory_bytes);
///     let mut ring = Ring::with_buffers(1)?;
///     ring.submit_read_at(file, vec![block(), block()], 0, 0);
///     let done = ring.wait()?.expect("one transfer");
///     done.result?;
///     Ok(done.data.into_buffers().expect("the buffers of the read"))
/// }
/// # if vectored::uring::Ring::new(1).is_ok() {
/// # assert_eq!(read_two_blocks(File::open("/dev/zero")?, 512)?.len(), 2);
/// # }
/// # Ok::<(), io::Error>(())
/// ```
pub trait Buffer: DerefMut<Target = [u8]> + Send + 'static {}

impl<B: DerefMut<Target = [u8]> + Send + 'static> Buffer for B {}
