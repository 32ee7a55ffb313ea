//! Transfers into and out of files that refuse vectored calls.

use super::*;
use crate::sys::codes;
use std::cell::{Cell, RefCell};

use crate::cost::thresholds::CopyThresholds;
use crate::runs::RunPolicy;
use crate::sys::limits::Limits;
use crate::testing::reads::check_read_against_model;
use crate::testing::{
    Answer, ScriptedSink, any_limits, any_script, any_sizes, check_against_model, list, payload,
};
use crate::transfer::read_loop::{AtEof, Receiver};
use crate::transfer::support_cache::testing::identity;
use crate::write::all::send_all_referenced;
use crate::{CostModel, Gather, SegmentCursor};
use proptest::prelude::*;

const CODES: [i32; 3] = [codes::EOPNOTSUPP, codes::EINVAL, codes::ENOSYS];

fn refuse<T>(code: i32) -> io::Result<T> {
    Err(io::Error::from_raw_os_error(code))
}

/// A device with a script for what it does not refuse.
struct Scripted<'s> {
    identity: Option<FileIdentity>,
    sink: RefCell<&'s mut ScriptedSink>,
    /// The error for a list, if it refuses lists.
    refuses: Option<i32>,
    refused: Cell<usize>,
    looked_at: Cell<usize>,
}

impl<'s> Scripted<'s> {
    fn new(
        identity: Option<FileIdentity>,
        refuses: Option<i32>,
        sink: &'s mut ScriptedSink,
    ) -> Self {
        Scripted {
            identity,
            sink: RefCell::new(sink),
            refuses,
            refused: Cell::new(0),
            looked_at: Cell::new(0),
        }
    }
}

impl Scripted<'_> {
    fn identity(&self) -> Option<FileIdentity> {
        self.looked_at.set(self.looked_at.get() + 1);
        self.identity
    }

    fn write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.refuses {
            Some(code) if slices.len() > 1 => {
                self.refused.set(self.refused.get() + 1);
                refuse(code)
            }
            _ => self.sink.borrow_mut().call(slices),
        }
    }
}

/// One transfer to the device, by a `Gather` that copies segments of up to 8 bytes.
fn gather_into(
    device: &Scripted<'_>,
    support: &SupportCache,
    limits: Limits,
    segments: &[IoSlice<'_>],
    cursor: &mut SegmentCursor,
) -> Result<u64, crate::TransferError> {
    let model = CostModel {
        copy_thresholds: CopyThresholds::everywhere(8),
        ..CostModel::default()
    };
    let mut calls = ListCalls::new(support);
    let mut gather = Gather::within(limits, model);
    gather.send_all(
        segments,
        cursor,
        || Ok(()),
        |slices| calls.write(slices, || device.identity(), |slices| device.write(slices)),
    )
}

/// A list of two for a kernel that answers `vectored` to it and `plain` to one slice; the calls
/// made, by their slices.
fn two_slices(
    support: &SupportCache,
    identity: Option<FileIdentity>,
    vectored: i32,
    mut plain: impl FnMut(&[u8]) -> io::Result<usize>,
) -> (io::Result<usize>, Vec<usize>) {
    let mut calls = Vec::new();
    let slices = [IoSlice::new(b"12"), IoSlice::new(b"345")];
    let result = ListCalls::new(support).write(
        &slices,
        || identity,
        |slices| {
            calls.push(slices.len());
            match slices {
                [one] => plain(one),
                _ => refuse(vectored),
            }
        },
    );
    (result, calls)
}

proptest! {
    #[test]
    fn any_list_into_a_sink_that_refuses_vectored_calls_arrives_whole(
        sizes in any_sizes(), script in any_script(), limits in any_limits(), code in 0..3_usize
    ) {
        let support = SupportCache::new();
        let mut refused = 0;
        // A plain call may take as much as a vectored one, in one slice.
        check_against_model(&sizes, &script, limits, |segments, cursor, sink| {
            let mut calls = ListCalls::new(&support);
            send_all_referenced(segments, cursor, limits, || Ok(()), |slices| {
                calls.write(slices, || identity(1), |slices| match slices {
                    [_] => sink.call(slices),
                    _ => { refused += 1; refuse(CODES[code]) }
                })
            })
        });
        // Each answer by which a plain call does not prove that lists are refused costs one more refusal.
        let unproven = script.iter().filter(|answer| !matches!(answer, Answer::Take(1..)));
        prop_assert!(refused <= 1 + unproven.count());
    }

    #[test]
    fn any_gathered_list_into_a_sink_that_refuses_vectored_calls_arrives_whole(
        sizes in any_sizes(), script in any_script(), limits in any_limits(), code in 0..3_usize
    ) {
        let support = SupportCache::new();
        let mut refused = 0;
        check_against_model(&sizes, &script, limits, |segments, cursor, sink| {
            let device = Scripted::new(identity(1), Some(CODES[code]), sink);
            let result = gather_into(&device, &support, limits, segments, cursor);
            refused += device.refused.get();
            result
        });
        let unproven = script.iter().filter(|answer| !matches!(answer, Answer::Take(1..)));
        prop_assert!(refused <= 1 + unproven.count());
    }

    #[test]
    fn any_list_from_a_source_that_refuses_vectored_calls_is_filled(
        sizes in any_sizes(), script in any_script(), limits in any_limits(), code in 0..3_usize
    ) {
        let support = SupportCache::new();
        let policy = RunPolicy::new(0, limits);
        check_read_against_model(&sizes, &script, limits, true, |segments, cursor, source| {
            let mut calls = ListCalls::new(&support);
            let at_eof = AtEof::Fail;
            Receiver::new().receive_all(segments, cursor, policy, at_eof, |slices| {
                calls.read(slices, || identity(1), |slices| match slices {
                    [_] => source.call(slices),
                    _ => refuse(CODES[code]),
                })
            })
        });
    }
}

#[test]
fn a_refusal_is_met_once_for_a_file_and_an_invalid_argument_once_a_transfer() {
    for code in CODES {
        let support = SupportCache::new();
        let again: &[usize] = match code {
            codes::EINVAL => &[2, 1],
            _ => &[1],
        };
        let take = |bytes: &[u8]| {
            assert_eq!(bytes, b"12345");
            Ok(bytes.len())
        };
        for (file, expected) in [(1, &[2, 1][..]), (1, again), (2, &[2, 1]), (1, again)] {
            let (result, calls) = two_slices(&support, identity(file), code, take);
            assert_eq!((result.unwrap(), &calls[..]), (5, expected));
        }
        assert_eq!(
            support.known(READS, || identity(1)),
            0,
            "writes say nothing of reads"
        );
    }
}

#[test]
fn a_transfer_looks_at_its_descriptor_once_and_only_if_one_was_refused() {
    let data = payload(&[20; 40]);
    let limits = Limits {
        segments: 4,
        bytes: 1000,
    };
    for (refuses, learned, looks) in [
        (None, None, 0),
        (None, Some(2), 1),
        // And once more to know where it was refused.
        (Some(codes::EINVAL), Some(2), 2),
        (Some(codes::EINVAL), Some(1), 1),
    ] {
        let support = SupportCache::new();
        if let Some(device) = learned {
            support.learn(WRITES, || identity(device));
        }
        let mut sink = ScriptedSink::new(Vec::new(), limits);
        let device = Scripted::new(identity(1), refuses, &mut sink);
        let cursor = &mut SegmentCursor::new();
        let sent = gather_into(&device, &support, limits, &list(&data), cursor);
        assert_eq!(sent.unwrap(), 800);
        assert_eq!(device.looked_at.get(), looks, "{refuses:?}, {learned:?}");
        let refused = usize::from(refuses.is_some() && learned != Some(1));
        assert_eq!(device.refused.get(), refused);
        assert_eq!(sink.calls, 10);
    }
}

#[test]
fn an_error_of_the_plain_call_is_the_answer_without_another() {
    let data = payload(&[20; 3]);
    let limits = Limits::default();
    for (learned, refused) in [(Some(1), 0), (Some(2), 1), (None, 1)] {
        let support = SupportCache::new();
        if let Some(device) = learned {
            support.learn(WRITES, || identity(device));
        }
        let script = vec![Answer::Fail(codes::EINVAL)];
        let mut sink = ScriptedSink::new(script, limits);
        let device = Scripted::new(identity(1), Some(codes::EINVAL), &mut sink);
        let cursor = &mut SegmentCursor::new();
        let sent = gather_into(&device, &support, limits, &list(&data), cursor);
        assert_eq!(
            sent.unwrap_err().io_error().raw_os_error(),
            Some(codes::EINVAL)
        );
        assert_eq!(device.refused.get(), refused);
        assert_eq!(sink.calls, 1);
    }
}

#[test]
fn a_refused_read_is_met_once_and_says_nothing_of_writes() {
    let support = SupportCache::new();
    for (device, expected) in [(1, &[2, 1][..]), (1, &[1]), (2, &[2, 1]), (2, &[1])] {
        if device == 2 {
            // A refused write says nothing of reads either.
            support.learn(WRITES, || identity(device));
        }
        let (mut two, mut three) = ([0; 2], [0; 3]);
        let mut slices = [IoSliceMut::new(&mut two), IoSliceMut::new(&mut three)];
        let mut calls = Vec::new();
        let read = ListCalls::new(&support).read(
            &mut slices,
            || identity(device),
            |slices| {
                calls.push(slices.len());
                match slices {
                    [one] => {
                        one[..4].copy_from_slice(b"1234");
                        Ok(4)
                    }
                    _ => refuse(codes::EOPNOTSUPP),
                }
            },
        );
        assert_eq!((read.unwrap(), &calls[..]), (4, expected));
        assert_eq!((&two, &three), (b"12", b"34\0"));
    }
    assert_eq!(support.known(WRITES, || identity(1)), 0);
}

#[test]
fn no_more_is_read_than_the_buffer_holds_and_large_segments_are_read_directly() {
    let support = SupportCache::new();
    let most = MAX_STAGED_BYTES;
    for (sizes, expected) in [
        ([most - 1, 5], most),
        ([1, 3 * most], most),
        ([3, 4], 7),
        ([most, 5], most),
        ([most + 1, 5], most + 1),
    ] {
        let mut buffers = sizes.map(|size| vec![0; size]);
        let first = buffers[0].as_ptr();
        let [one, two] = &mut buffers;
        let mut slices = [IoSliceMut::new(one), IoSliceMut::new(two)];
        let mut is_direct = false;
        let read = ListCalls::new(&support).read(
            &mut slices,
            || identity(1),
            |slices| match slices {
                [one] => {
                    is_direct = one.as_ptr() == first;
                    one.fill(7);
                    Ok(one.len())
                }
                _ => refuse(codes::EOPNOTSUPP),
            },
        );
        assert_eq!((read.unwrap(), is_direct), (expected, sizes[0] >= most));
        let filled = buffers.concat();
        // Whole slices are compared: byte by byte Miri takes minutes.
        assert!(filled[..expected] == vec![7; expected]);
        assert!(filled[expected..] == vec![0; filled.len() - expected]);
    }
}

#[test]
fn the_answer_of_the_plain_call_is_the_answer_and_proves_nothing_unless_bytes_went() {
    let support = SupportCache::new();
    for code in [codes::EINVAL, codes::ENOSPC, codes::EAGAIN, codes::EINTR] {
        let (result, calls) = two_slices(&support, identity(1), codes::EINVAL, |_| refuse(code));
        assert_eq!(result.unwrap_err().raw_os_error(), Some(code));
        assert_eq!(calls, [2, 1]);
    }
    let (result, _) = two_slices(&support, identity(1), codes::EINVAL, |_| Ok(0));
    assert_eq!(result.unwrap(), 0);
    assert_eq!(support.known(WRITES, || identity(1)), 0);
}

#[test]
fn sockets_and_direct_files_get_no_second_call() {
    let support = SupportCache::new();
    let (mut socket, mut direct) = (identity(1).unwrap(), identity(1).unwrap());
    socket.kind = FileKind::Socket;
    direct.is_direct = true;
    for identity in [Some(socket), Some(direct), None] {
        for code in CODES {
            let (result, calls) = two_slices(&support, identity, code, |_| Ok(1));
            assert_eq!(result.unwrap_err().raw_os_error(), Some(code));
            assert_eq!(calls, [2]);
        }
    }
}

#[test]
fn within_a_transfer_an_invalid_list_is_met_once() {
    let data = payload(&[20; 40]);
    let limits = Limits {
        segments: 4,
        bytes: 1000,
    };
    for code in CODES {
        let support = SupportCache::new();
        let mut sink = ScriptedSink::new(Vec::new(), limits);
        let device = Scripted::new(identity(1), Some(code), &mut sink);
        let cursor = &mut SegmentCursor::new();
        let sent = gather_into(&device, &support, limits, &list(&data), cursor);
        assert_eq!(sent.unwrap(), 800);
        assert_eq!(device.refused.get(), 1);
        assert_eq!(support.has_any(WRITES), code != codes::EINVAL);
    }
}

#[test]
fn another_error_is_no_refusal() {
    let support = SupportCache::new();
    for code in [
        codes::EIO,
        codes::EFAULT,
        codes::EAGAIN,
        codes::EINTR,
        codes::ESPIPE,
    ] {
        let (result, calls) = two_slices(&support, identity(1), code, |_| Ok(1));
        assert_eq!(result.unwrap_err().raw_os_error(), Some(code));
        assert_eq!(calls, [2]);
    }
}

#[test]
fn no_more_is_copied_than_the_buffer_holds_and_large_segments_are_not() {
    let support = SupportCache::new();
    let most = MAX_STAGED_BYTES;
    for sizes in [
        [most - 1, 5, 1],
        [most, 5, 1],
        [most + 1, 5, 1],
        [3, most, 1],
        [1, 1, 3 * most],
    ] {
        let data = payload(&sizes);
        let mut plain = Vec::new();
        let mut address = std::ptr::null();
        let written = ListCalls::new(&support)
            .write(
                &list(&data),
                || identity(1),
                |slices| match slices {
                    [one] => {
                        plain = one.to_vec();
                        address = one.as_ptr();
                        Ok(one.len())
                    }
                    _ => refuse(codes::EOPNOTSUPP),
                },
            )
            .unwrap();
        assert!(plain == data.concat()[..written]);
        let is_large = sizes[0] >= most;
        assert_eq!(written, if is_large { sizes[0] } else { most });
        assert_eq!(address == data[0].as_ptr(), is_large);
    }
}
