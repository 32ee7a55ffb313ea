//! Frames with their length in front.

use std::io;

use bytes::Bytes;

use crate::encoder::QueueEncoder;
use vectored::SegmentQueue;

/// Puts the length before each frame, as 4 bytes in big-endian order.
///
/// `tokio_util::codec::LengthDelimitedCodec` writes and reads such frames by default. A frame may have up to 8 MiB.
/// [`max_frame_bytes`](LengthDelimitedEncoder::max_frame_bytes) sets another limit. On the side that reads,
/// `LengthDelimitedCodec::set_max_frame_length` sets the limit.
///
/// A short frame is copied, and a long frame is kept until it is written. Any owner of bytes becomes a `Bytes` without a copy:
/// `Bytes::from` takes a `Vec`, a `String` and a [`Segment`](vectored::queue::Segment), and `Bytes::from_owner` takes any other
/// owner.
///
/// # Examples
///
/// ```
/// use bytes::Bytes;
/// use vectored::SegmentQueue;
/// use vectored_codec::{LengthDelimitedEncoder, QueueEncoder};
///
/// let mut encoder = LengthDelimitedEncoder::new().max_frame_bytes(5);
/// let mut queue = SegmentQueue::new();
/// encoder.encode(Bytes::from("hello"), &mut queue).unwrap();
/// assert_eq!(queue.segments().next(), Some(&b"\0\0\0\x05hello"[..]));
///
/// let error = encoder.encode(Bytes::from("too long"), &mut queue).unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
/// assert_eq!(queue.len(), 9);
/// ```
#[derive(Clone, Debug)]
pub struct LengthDelimitedEncoder {
    max_frame_bytes: usize,
}

impl LengthDelimitedEncoder {
    /// An encoder of frames of up to 8 MiB.
    #[must_use]
    pub const fn new() -> LengthDelimitedEncoder {
        LengthDelimitedEncoder {
            max_frame_bytes: 8 << 20,
        }
    }

    /// Sets the most bytes of a frame, without its length. More than [`u32::MAX`] has the effect of `u32::MAX`.
    #[must_use]
    pub const fn max_frame_bytes(mut self, bytes: usize) -> LengthDelimitedEncoder {
        self.max_frame_bytes = bytes;
        self
    }
}

impl Default for LengthDelimitedEncoder {
    fn default() -> LengthDelimitedEncoder {
        LengthDelimitedEncoder::new()
    }
}

/// Items have the type `Bytes` alone, as with `LengthDelimitedCodec`: with several types, the compiler could not tell
/// which sink `flush` is called on.
impl QueueEncoder<Bytes> for LengthDelimitedEncoder {
    type Error = io::Error;

    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the frame is too long.
    fn encode(&mut self, frame: Bytes, queue: &mut SegmentQueue) -> io::Result<()> {
        let bytes = frame.len();
        let length = match u32::try_from(bytes) {
            Ok(length) if bytes <= self.max_frame_bytes => length,
            _ => return Err(too_long(bytes, self.max_frame_bytes)),
        };
        queue.put_slice(&length.to_be_bytes());
        queue.push(frame);
        Ok(())
    }
}

#[cold]
fn too_long(bytes: usize, max_frame_bytes: usize) -> io::Error {
    let most = max_frame_bytes.min(u32::MAX as usize);
    let message = format!("the frame has {bytes} bytes, but this encoder takes up to {most}");
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
