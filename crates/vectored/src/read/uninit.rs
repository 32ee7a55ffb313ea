//! Reading into uninitialized memory.

use std::io;
use std::mem::MaybeUninit;

use crate::descriptor::{AsDescriptor, BorrowedDescriptor};
use crate::error::TransferError;
use crate::interruption::{CallEnd, go_on_after};
use crate::sys;
use crate::sys::limits::MAX_CALL_BYTES;
use crate::sys::uninit::Filling;
use crate::transfer::message_sockets::before_each_read;
use crate::transfer::read_loop::{AtEof, retry_interrupted, unexpected_eof};

/// Reads into all of `buf`, which need not be initialized, until it is full, and returns it as bytes.
///
/// Like [`read_exact`](crate::read_exact) with one segment, without the cost of
/// clearing memory that is about to be overwritten. There is no such function for lists of buffers.
///
/// # Errors
///
/// The errors of [`read_exact`](crate::read_exact). The first
/// [`transferred`](TransferError::transferred) bytes of `buf` are then initialized.
///
/// # Examples
///
/// ```
/// use std::io::Write;
/// use std::mem::MaybeUninit;
/// use vectored::uninit::read_exact_uninit;
///
/// # fn main() -> std::io::Result<()> {
/// let (reader, mut writer) = std::io::pipe()?;
/// writer.write_all(b"hello and more")?;
///
/// let mut memory = [MaybeUninit::uninit(); 5];
/// let bytes: &mut [u8] = read_exact_uninit(&reader, &mut memory)?;
/// assert_eq!(bytes, b"hello");
/// # Ok(())
/// # }
/// ```
///
/// The spare capacity of a `Vec` is such memory ([`Vec::spare_capacity_mut`]).
pub fn read_exact_uninit(
    fd: impl AsDescriptor,
    buf: &mut [MaybeUninit<u8>],
) -> Result<&mut [u8], TransferError> {
    fill(
        buf,
        MAX_CALL_BYTES,
        AtEof::Fail,
        stream_source(fd.as_descriptor()),
    )
}

/// Reads into `buf`, which need not be initialized, until it is full or the file ends, and returns the part that was
/// filled.
///
/// # Errors
///
/// The errors of [`read_exact_uninit`] except `UnexpectedEof`.
///
/// # Examples
///
/// ```
/// use std::io::Write;
/// use std::mem::MaybeUninit;
/// use vectored::uninit::read_up_to_eof_uninit;
///
/// # fn main() -> std::io::Result<()> {
/// let (reader, mut writer) = std::io::pipe()?;
/// writer.write_all(b"hello")?;
/// drop(writer);
///
/// let mut memory = [MaybeUninit::uninit(); 100];
/// assert_eq!(read_up_to_eof_uninit(&reader, &mut memory)?, b"hello");
/// # Ok(())
/// # }
/// ```
pub fn read_up_to_eof_uninit(
    fd: impl AsDescriptor,
    buf: &mut [MaybeUninit<u8>],
) -> Result<&mut [u8], TransferError> {
    fill(
        buf,
        MAX_CALL_BYTES,
        AtEof::Stop,
        stream_source(fd.as_descriptor()),
    )
}

/// A source that calls `read(2)` on a stream, and refuses a socket that keeps messages apart.
fn stream_source(
    fd: BorrowedDescriptor<'_>,
) -> impl FnMut(&mut [MaybeUninit<u8>]) -> io::Result<&mut [u8]> {
    let mut check = before_each_read(fd);
    move |free| {
        check()?;
        sys::syscalls::read_uninit(fd, free)
    }
}

/// Fills `buf` from `source`, which is asked for up to `max_bytes` at once.
fn fill(
    buf: &mut [MaybeUninit<u8>],
    max_bytes: usize,
    at_eof: AtEof,
    mut source: impl FnMut(&mut [MaybeUninit<u8>]) -> io::Result<&mut [u8]>,
) -> Result<&mut [u8], TransferError> {
    let mut filling = Filling::new(buf);
    while !filling.is_full() {
        let result = retry_interrupted(|| filling.fill(max_bytes, &mut source));
        let error = match (result, at_eof) {
            (Ok(0), AtEof::Stop) => break,
            (Ok(0), AtEof::Fail) => unexpected_eof(),
            (Ok(_), _) if filling.is_full() => break,
            (Ok(_), _) => match go_on_after(CallEnd::Other) {
                Ok(()) => continue,
                Err(stopped) => stopped,
            },
            (Err(error), _) => error,
        };
        return Err(TransferError::reading(filling.filled_bytes() as u64, error));
    }
    Ok(filling.into_filled())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::codes;
    use crate::sys::limits::Limits;
    use crate::testing::reads::ScriptedSource;
    use crate::testing::{Answer, any_script, payload};
    use proptest::prelude::*;
    use std::io::{ErrorKind, IoSliceMut};

    fn check(size: usize, most: usize, script: &[Answer], at_eof: AtEof) {
        let data = payload(&[size + 100]).concat();
        let limits = Limits {
            segments: 1,
            bytes: most,
        };
        let mut source = ScriptedSource::new(data.clone(), script, limits);
        let mut memory = vec![MaybeUninit::uninit(); size];
        let result = fill(&mut memory, most, at_eof, |free| {
            let free = clear(free);
            let given = source.call(&mut [IoSliceMut::new(free)])?;
            Ok(&mut free[..given])
        });
        match result {
            Ok(bytes) => {
                assert_eq!(bytes, &data[..source.given]);
                let ended = (source.last, at_eof) == (Answer::Take(0), AtEof::Stop);
                assert!(bytes.len() == size || ended);
            }
            Err(error) => {
                assert_eq!(error.transferred(), source.given as u64);
                match source.last {
                    Answer::Fail(code) => {
                        assert_ne!(code, codes::EINTR);
                        assert_eq!(error.io_error().raw_os_error(), Some(code));
                    }
                    Answer::Take(most) => {
                        assert_eq!((most, at_eof), (0, AtEof::Fail));
                        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
                    }
                }
            }
        }
        assert!(source.refusals <= 1, "a refusal was ignored");
        assert!(size > 0 || source.calls == 0, "a call for no bytes");
    }

    /// Initializes a whole slice, in safe code.
    fn clear(memory: &mut [MaybeUninit<u8>]) -> &mut [u8] {
        fill(memory, 1, AtEof::Fail, |free| {
            Ok(std::slice::from_mut(free[0].write(0)))
        })
        .unwrap()
    }

    proptest! {
        #[test]
        fn any_source_fills_memory_in_order_and_counted(
            size in 0..300_usize, most in 1..100_usize, script in any_script(), fails: bool
        ) {
            let at_eof = if fails { AtEof::Fail } else { AtEof::Stop };
            check(size, most, &script, at_eof);
        }
    }

    #[test]
    #[should_panic(expected = "other bytes than those it was given")]
    fn bytes_from_other_memory_are_a_panic() {
        let mut memory = [MaybeUninit::uninit(); 3];
        let _ = fill(&mut memory, 3, AtEof::Fail, |_| {
            Ok(Box::leak(Box::new([0; 3])))
        });
    }
}
