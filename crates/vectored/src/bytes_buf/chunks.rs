//! Writing from a `bytes::Buf`: what can be believed of the slices that it gives.

use std::io::{self, IoSlice};
use std::mem;
use std::os::fd::AsFd;

use bytes::Buf;

use crate::cursor::SegmentCursor;
use crate::error::TransferError;
use crate::gather::{Gather, recycle};
use crate::transfer::direct_retry::resend_uncopied;
use crate::transfer::message_sockets::refuse_messages;
use crate::transfer::unvectored::into_stream;
use crate::transfer::write_loop::AskOnce;
use crate::write::all::send_all_referenced;

/// StagingTail for so many slices is offered to a `Buf` first: to clear it costs about as much as a slice
/// costs in the kernel, and to clear room for `iov_max()` as much as a short system call.
const FEW_SLICES: usize = 64;

impl Gather {
    /// Writes all of `buf` and returns its bytes: small chunks copied together, large ones
    /// referenced, many in one call.
    ///
    /// With feature `bytes`.
    ///
    /// It takes up to [`iov_max`](crate::iov_max) chunks at once and writes them as
    /// [`write_all`](Gather::write_all) writes a list. Whether it succeeds or fails, `buf` has been
    /// advanced by exactly the bytes that went. After [`WouldBlock`](io::ErrorKind::WouldBlock), or
    /// another error that can be mended, call it again with the same `buf`. If a file that is open with
    /// `O_DIRECT` answers `EINVAL`, what is left is tried once more uncopied.
    ///
    /// # Which slices are believed
    ///
    /// [`Buf::chunks_vectored`] may skip data: of a [`Chain`] whose first half
    /// gives only the first of its chunks, the second half follows at once
    /// ([bytes#701](https://github.com/tokio-rs/bytes/issues/701)). So its slices are only a hint
    /// here. Each is proved by walking a clone of `buf`, chunk by chunk, and what is not proved is not
    /// written from there.
    ///
    /// The proof is by address, so it needs a type whose clone refers to the same memory, such as
    /// a rope of [`Bytes`] or `&[u8]`. Of a type whose clone copies the bytes, such as
    /// `VecDeque<u8>`, one chunk goes at a time, and each call may cost a copy of all that is left. A
    /// buffer of one chunk is never cloned. For a `Buf` that is dear to clone or cannot be cloned, as
    /// `Chain` and [`Take`] cannot, there is [`BufSender`](crate::BufSender).
    ///
    /// # Errors
    ///
    /// As [`write_all_vectored`](crate::write_all_vectored), with the bytes of this call. A socket
    /// that keeps messages apart is refused unless what `buf` holds is exactly one message
    /// ([details](crate#messages)); what was taken from `buf` by earlier calls cannot be known.
    ///
    /// # Panics
    ///
    /// If `buf` has bytes remaining and yet an empty chunk, which breaks the contract of
    /// [`Buf::chunk`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// use std::os::unix::net::UnixStream;
    /// use bytes::{Buf, Bytes};
    /// use vectored::Gather;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let (writer, reader) = UnixStream::pair()?;
    /// writer.set_nonblocking(true)?;
    /// let mut body = Bytes::from(vec![b'x'; 10_000_000]);
    ///
    /// let full = Gather::default().write_buf(&writer, &mut body).unwrap_err();
    /// assert_eq!(full.kind(), ErrorKind::WouldBlock);
    /// assert_eq!(full.transferred() + body.remaining() as u64, 10_000_000);
    /// # drop(reader);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`Buf::chunk`]: https://docs.rs/bytes/1/bytes/trait.Buf.html#tymethod.chunk
    /// [`Buf::chunks_vectored`]: https://docs.rs/bytes/1/bytes/trait.Buf.html#method.chunks_vectored
    /// [`Bytes`]: https://docs.rs/bytes/1/bytes/struct.Bytes.html
    /// [`Chain`]: https://docs.rs/bytes/1/bytes/buf/struct.Chain.html
    /// [`Take`]: https://docs.rs/bytes/1/bytes/buf/struct.Take.html
    pub fn write_buf<B: Buf + Clone>(
        &mut self,
        fd: impl AsFd,
        buf: &mut B,
    ) -> Result<u64, TransferError> {
        let fd = fd.as_fd();
        let sent = self.send_buf(buf, || refuse_messages(fd), into_stream(fd));
        sent.or_else(|error| {
            resend_uncopied(fd, error, |_| {
                self.send_chunks(buf, false, || refuse_messages(fd), into_stream(fd))
            })
        })
    }

    /// `write_buf` into any sink.
    fn send_buf<B: Buf + Clone>(
        &mut self,
        buf: &mut B,
        may_split: impl FnOnce() -> io::Result<()>,
        sink: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<u64, TransferError> {
        self.send_chunks(buf, true, may_split, sink)
    }

    /// The same; if not `may_copy`, each chunk goes from where it lies.
    fn send_chunks<B: Buf + Clone>(
        &mut self,
        buf: &mut B,
        may_copy: bool,
        may_split: impl FnOnce() -> io::Result<()>,
        mut sink: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> Result<u64, TransferError> {
        let limits = self.limits();
        let mut may_split = AskOnce::new(may_split);
        let mut clones_share = true;
        let mut transferred = 0;
        loop {
            let mut slices = recycle(mem::take(&mut self.slices));
            let bytes = proven(buf, limits.segments, &mut clones_share, &mut slices);
            // Of several parts the first is not the whole, so it is asked before any byte.
            let is_whole = bytes == buf.remaining();
            let may_go = if is_whole { Ok(()) } else { may_split.ask() };
            let result = match may_go {
                Err(error) => Err(TransferError::new(0, error)),
                Ok(()) => {
                    let (cursor, ask) = (&mut SegmentCursor::new(), || may_split.ask());
                    match may_copy {
                        true => self.send_all(&slices, cursor, ask, &mut sink),
                        false => send_all_referenced(&slices, cursor, limits, ask, &mut sink),
                    }
                }
            };
            self.slices = recycle(slices);
            let went = match &result {
                Ok(went) => *went,
                Err(error) => error.transferred(),
            };
            // It fits: these are bytes of `proven`.
            buf.advance(went as usize);
            transferred += went;
            if let Err(error) = result {
                return Err(TransferError::new(transferred, error.into_io_error()));
            }
            if !buf.has_remaining() {
                return Ok(transferred);
            }
        }
    }
}

/// The next chunk of `buf`, which is empty only at its end.
///
/// # Panics
///
/// If it is empty before: that breaks the contract of `Buf::chunk`, and a loop would never end.
pub(crate) fn next_chunk(buf: &impl Buf) -> &[u8] {
    let chunk = buf.chunk();
    assert!(
        !chunk.is_empty() || !buf.has_remaining(),
        "the Buf has {} bytes remaining, but its chunk() is empty",
        buf.remaining()
    );
    chunk
}

/// Leaves in `slices` the next chunks of `buf`, at most `most`, and returns their bytes.
///
/// `clones_share` is set to false when a clone turns out to lie elsewhere: then no more are made.
fn proven<'a, B: Buf + Clone>(
    buf: &'a B,
    most: usize,
    clones_share: &mut bool,
    slices: &mut Vec<IoSlice<'a>>,
) -> usize {
    slices.clear();
    let chunk = next_chunk(buf);
    if chunk.is_empty() {
        return 0;
    }
    let mut bytes = 0;
    if chunk.len() < buf.remaining() && most > 1 && *clones_share {
        ask_for_slices(buf, most, slices);
        if slices.len() > 1 {
            let mut clone = buf.clone();
            *clones_share = clone.chunk().as_ptr() == chunk.as_ptr();
            bytes = keep_proven(&mut clone, slices);
        }
    }
    if bytes < chunk.len() {
        slices.clear();
        slices.push(IoSlice::new(chunk));
        bytes = chunk.len();
    }
    bytes
}

/// Keeps those `slices` that are the next chunks of `clone`, from the first on; returns their bytes.
///
/// A slice is proved if it begins where the clone's next chunk does and is not longer. They are the
/// same memory then, and both borrow it at this moment, so they are the same bytes.
fn keep_proven(clone: &mut impl Buf, slices: &mut Vec<IoSlice<'_>>) -> usize {
    let mut bytes: usize = 0;
    let mut is_proved = true;
    slices.retain(|slice| {
        // Empty ones need no proof and no place.
        if !is_proved || slice.is_empty() {
            return false;
        }
        let next = clone.chunk();
        let sum = bytes.checked_add(slice.len());
        is_proved = slice.as_ptr() == next.as_ptr() && slice.len() <= next.len() && sum.is_some();
        if is_proved {
            clone.advance(slice.len());
            bytes += slice.len();
        }
        is_proved
    });
    bytes
}

/// Asks `buf` for up to `most` slices; for few at first, since most buffers have few.
fn ask_for_slices<'a>(buf: &'a impl Buf, most: usize, slices: &mut Vec<IoSlice<'a>>) {
    for room in [most.min(FEW_SLICES), most] {
        slices.clear();
        slices.resize(room, IoSlice::new(&[]));
        let count = buf.chunks_vectored(slices);
        slices.truncate(count);
        if count < room || room == most {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CostModel;
    use crate::Limits;
    use crate::testing::bufs::{
        Hollow, Rope, Shows, Tree, all_bytes, any_tree, bytes_shown, check_sender,
    };
    use crate::testing::{Answer, ScriptedSink, any_limits, any_script, payload};
    use bytes::Bytes;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// One that decides by the default model.
    fn within(limits: Limits) -> Gather {
        Gather::within(limits, CostModel::default())
    }

    const LIMITS: Limits = Limits {
        segments: 1024,
        bytes: 1 << 20,
    };

    /// Takes the tree as it is: a clone need not have the same chunks.
    fn check(gather: &mut Gather, tree: Tree, script: &[Answer]) -> ScriptedSink {
        let limits = gather.limits();
        let remaining = |tree: &Tree| tree.remaining() as u64;
        let model = all_bytes(&tree);
        check_sender(&model, tree, (script, limits), remaining, |tree, sink| {
            gather.send_buf(tree, || Ok(()), |slices| sink.call(slices))
        })
    }

    fn calls_of(tree: Tree) -> usize {
        check(&mut within(LIMITS), tree, &[]).calls
    }

    proptest! {
        #[test]
        fn any_buf_arrives_whole_in_order_and_counted(
            trees in prop::collection::vec((any_tree(), any_script()), 1..4),
            staging_bytes in prop_oneof![Just(0), 1..300_usize],
            limits in any_limits(),
        ) {
            // One `Gather` for several: nothing of one may come through into the next.
            let model = CostModel { staging_bytes, ..CostModel::default() };
            let mut gather = Gather::within(limits, model);
            for (tree, script) in trees {
                check(&mut gather, tree, &script);
            }
        }
    }

    /// <https://github.com/tokio-rs/bytes/issues/701>
    #[test]
    fn slices_that_skip_are_never_believed() {
        let data = payload(&[5, 7, 9, 5, 7]);
        let skipping = |shows| Tree::rope(&data[..2], shows);
        let tail = || Tree::rope(&data[2..], Shows::All);
        for shows in [Shows::First, Shows::AllButFirst, Shows::FirstAgain] {
            let chain = Tree::chain_of(skipping(shows), tail());
            assert!(!all_bytes(&chain).starts_with(&bytes_shown(&chain)));
            check(&mut within(LIMITS), chain.clone(), &[]);
            let nested = Tree::chain_of(chain, tail());
            check(&mut within(LIMITS), nested, &[]);
        }
        // Here even the total is right, and the first slice too: 5 + 9 + 5 of 19 bytes.
        let chain = Tree::chain_of(skipping(Shows::First), tail());
        let take = Tree::take_of(chain, 19);
        let shown = bytes_shown(&take);
        assert_eq!(shown.len(), take.remaining());
        assert_eq!(shown[..5], data[0]);
        assert_ne!(shown, all_bytes(&take));
        check(&mut within(LIMITS), take, &[]);
    }

    #[test]
    fn chunks_that_are_proved_go_in_one_call() {
        // Too large to be copied together: each takes an entry of its own.
        for count in [1, 63, 64, 65, 1023, 1024, 1025, 3000] {
            let data = payload(&vec![2000; count]);
            let limits = Limits {
                bytes: 1 << 30,
                ..LIMITS
            };
            // A chunk in two halves, and with two empty slices, takes the room of four.
            for (shows, slices) in [(Shows::All, count), (Shows::Halves, 4 * count)] {
                let rope = Tree::rope(&data, shows);
                let sink = check(&mut within(limits), rope, &[]);
                assert_eq!(sink.calls, slices.div_ceil(1024), "{count}, {shows:?}");
            }
        }
    }

    #[test]
    fn small_chunks_are_copied_into_one_entry() {
        let rope = Tree::rope(&payload(&[10; 500]), Shows::All);
        let mut entries = Vec::new();
        let result = within(LIMITS).send_buf(
            &mut rope.clone(),
            || Ok(()),
            |slices| {
                entries.push(slices.len());
                Ok(slices.iter().map(|slice| slice.len()).sum())
            },
        );
        assert_eq!(result.unwrap(), 5000);
        assert_eq!(entries, [1]);
    }

    #[test]
    fn a_chain_of_shared_bytes_goes_in_one_call() {
        let [a, b, c] = [2000, 10, 3000].map(|size| Tree::Bytes(vec![7; size].into()));
        assert_eq!(calls_of(Tree::chain_of(a, Tree::chain_of(b, c))), 1);
    }

    #[test]
    fn a_clone_that_copies_proves_nothing_and_loses_nothing() {
        let mut deque = std::collections::VecDeque::with_capacity(64);
        deque.extend(0..10);
        (10..20).for_each(|byte| deque.push_front(byte));
        assert!(!deque.as_slices().1.is_empty(), "it must wrap");
        assert_eq!(calls_of(Tree::Deque(deque)), 2);
    }

    #[test]
    fn a_clone_that_copies_is_made_once_a_call() {
        struct Copied(Rope, Rc<Cell<usize>>);
        impl Clone for Copied {
            fn clone(&self) -> Copied {
                self.1.set(self.1.get() + 1);
                Copied(self.0.copied(), Rc::clone(&self.1))
            }
        }
        impl Buf for Copied {
            fn remaining(&self) -> usize {
                self.0.remaining()
            }
            fn chunk(&self) -> &[u8] {
                self.0.chunk()
            }
            fn chunks_vectored<'a>(&'a self, to: &mut [IoSlice<'a>]) -> usize {
                self.0.chunks_vectored(to)
            }
            fn advance(&mut self, bytes: usize) {
                self.0.advance(bytes);
            }
        }
        let clones = Rc::new(Cell::new(0));
        let rope = Rope::new(&payload(&[10; 20]), Shows::All);
        let mut calls = 0;
        let result = within(LIMITS).send_buf(
            &mut Copied(rope, Rc::clone(&clones)),
            || Ok(()),
            |slices| {
                calls += 1;
                Ok(slices.iter().map(|slice| slice.len()).sum())
            },
        );
        assert_eq!((result.unwrap(), calls, clones.get()), (200, 20, 1));
    }

    #[test]
    fn a_buffer_of_one_chunk_is_never_cloned() {
        #[derive(Debug)]
        struct Dear(Bytes);
        impl Clone for Dear {
            fn clone(&self) -> Dear {
                panic!("it was cloned")
            }
        }
        impl Buf for Dear {
            fn remaining(&self) -> usize {
                self.0.remaining()
            }
            fn chunk(&self) -> &[u8] {
                self.0.chunk()
            }
            fn advance(&mut self, bytes: usize) {
                self.0.advance(bytes);
            }
        }
        let mut dear = Dear(Bytes::from_static(b"abc"));
        let result =
            within(LIMITS).send_buf(&mut dear, || Ok(()), |slices| Ok(slices[0].len().min(2)));
        assert_eq!(result.unwrap(), 3);
    }

    #[test]
    fn an_error_at_any_point_of_a_buf_leaves_it_where_it_was() {
        let data = payload(&[2, 3, 8, 1, 3, 5]);
        for shows in [Shows::All, Shows::First] {
            let rope = Tree::rope(&data[..3], shows);
            let tree = Tree::chain_of(rope, Tree::rope(&data[3..], shows));
            for before in 0..22 {
                for code in [libc::EAGAIN, libc::EIO, libc::ENOSPC, libc::EPIPE] {
                    let mut script = vec![Answer::Take(1); before];
                    script.push(Answer::Fail(code));
                    check(&mut within(LIMITS), tree.clone(), &script);
                }
            }
        }
    }

    #[test]
    fn only_a_buf_that_is_one_whole_call_goes_to_a_descriptor_of_messages() {
        let send = |tree: &Tree, script: &[Answer], limits| {
            let mut sink = ScriptedSink::new(script.to_vec(), limits);
            let mut tree = tree.clone();
            let left = tree.remaining();
            let refuse = || Err(io::ErrorKind::InvalidInput.into());
            let mut gather = within(limits);
            let result = gather.send_buf(&mut tree, refuse, |slices| sink.call(slices));
            assert_eq!(left - tree.remaining(), sink.taken.len());
            let result = result.map_err(|error| {
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
                error.transferred()
            });
            (result, sink.calls)
        };
        let three = Limits {
            segments: 3,
            bytes: 10_000,
        };
        let data = payload(&[1000, 2000, 3000, 4000]);
        let rope = |count| Tree::rope(&data[..count], Shows::All);
        assert_eq!(send(&rope(3), &[], three), (Ok(6000), 1));
        // More chunks than a call takes; more bytes.
        assert_eq!(send(&rope(4), &[], three), (Err(0), 0));
        let bytes = Limits {
            bytes: 5999,
            ..three
        };
        assert_eq!(send(&rope(3), &[], bytes), (Err(0), 0));
        // Chunks that are there but were not shown.
        let skipping = Tree::rope(&data[..3], Shows::First);
        assert_eq!(send(&skipping, &[], three), (Err(0), 0));
        // The empty message would be dropped.
        assert_eq!(send(&rope(0), &[], three), (Err(0), 0));
        // A message of which a part has gone.
        assert_eq!(send(&rope(3), &[Answer::Take(1)], three), (Err(1), 1));
    }

    #[test]
    fn whether_a_buf_may_be_split_is_asked_once() {
        let limits = Limits {
            segments: 2,
            bytes: 7,
        };
        let mut rope = Rope::new(&payload(&[3; 20]), Shows::All);
        let mut asked = 0;
        let ask = || {
            asked += 1;
            Ok(())
        };
        let sink = |slices: &[IoSlice<'_>]| Ok(slices.iter().map(|slice| slice.len()).sum());
        let result = within(limits).send_buf(&mut rope, ask, sink);
        assert_eq!((result.unwrap(), asked), (60, 1));
    }

    #[test]
    fn memory_for_chunks_is_kept_and_does_not_grow() {
        let mut gather = within(LIMITS);
        let rope = Tree::rope(&payload(&[10, 5000, 20, 3000, 7, 7]), Shows::All);
        let memory = |gather: &Gather| (gather.slices.as_ptr(), gather.slices.capacity());
        check(&mut gather, rope.clone(), &[]);
        let first = memory(&gather);
        assert_eq!(first.1, FEW_SLICES);
        for _ in 0..10 {
            check(&mut gather, rope.clone(), &[]);
            assert_eq!(memory(&gather), first);
        }
    }

    #[test]
    #[should_panic(expected = "the Buf has 3 bytes remaining, but its chunk() is empty")]
    fn a_buf_without_a_chunk_is_no_endless_loop() {
        let sink = |_: &[IoSlice<'_>]| Ok(0);
        let _ = within(LIMITS).send_buf(&mut Hollow, || Ok(()), sink);
    }
}
