//! Tests of files that refuse vectored calls.

use super::*;
use crate::cost::thresholds::CopyThresholds;
use crate::runs::RunPolicy;
use crate::testing::reads::check_read_against_model;
use crate::testing::{
    Answer, any_limits, any_script, any_sizes, check_against_model, list, payload,
};
use crate::transfer::read_loop::{AtEof, Receiver};
use crate::{CostModel, Gather};
use proptest::prelude::*;

const CODES: [i32; 3] = [codes::EOPNOTSUPP, codes::EINVAL, codes::ENOSYS];

fn refuse<T>(code: i32) -> io::Result<T> {
    Err(io::Error::from_raw_os_error(code))
}

impl MayGetPlainCall for bool {
    fn may_get_plain_call(&self) -> bool {
        *self
    }
}

proptest! {
    /// Segments of up to `copied` bytes are copied.
    #[test]
    fn any_list_into_a_sink_that_refuses_vectored_calls_arrives_whole(
        sizes in any_sizes(), script in any_script(), limits in any_limits(), code in 0..3_usize,
        copied in prop_oneof![Just(0), Just(8)],
    ) {
        let mut refused = 0;
        let model = CostModel {
            copy_thresholds: CopyThresholds::everywhere(copied),
            ..CostModel::default()
        };
        check_against_model(&sizes, &script, limits, |segments, cursor, sink| {
            let mut calls = ListCalls::default();
            Gather::within(limits, model).send_all(segments, cursor, || Ok(()), |slices: &[IoSlice<'_>]| {
                calls.write(slices, true, |slices| match slices {
                    [_] => sink.call(slices),
                    _ => { refused += 1; refuse(CODES[code]) }
                })
            })
        });
        // After a plain call that does not prove the refusal, another list is tried and refused.
        let unproven = script.iter().filter(|answer| !matches!(answer, Answer::Take(1..)));
        prop_assert!(refused <= 1 + unproven.count());
    }

    #[test]
    fn any_list_from_a_source_that_refuses_vectored_calls_is_filled(
        sizes in any_sizes(), script in any_script(), limits in any_limits(), code in 0..3_usize
    ) {
        let mut refused = 0;
        let policy = RunPolicy::new(0, limits);
        check_read_against_model(&sizes, &script, limits, true, |segments, cursor, source| {
            let mut calls = ListCalls::default();
            Receiver::new().receive_all(segments, cursor, policy, AtEof::Fail, |slices| {
                calls.read(slices, true, |slices| match slices {
                    [_] => source.call(slices),
                    _ => { refused += 1; refuse(CODES[code]) }
                })
            })
        });
        let unproven = script.iter().filter(|answer| !matches!(answer, Answer::Take(1..)));
        prop_assert!(refused <= 1 + unproven.count());
    }
}

/// Writes two slices by a kernel that answers `vectored` to a list, and `plain` to a single slice. Returns the result,
/// and the number of slices of each call.
fn two_slices(
    calls: &mut ListCalls,
    may_get_plain_call: bool,
    vectored: i32,
    plain: io::Result<usize>,
) -> (Result<usize, Option<i32>>, Vec<usize>) {
    let mut made = Vec::new();
    let mut plain = Some(plain);
    let slices = [IoSlice::new(b"12"), IoSlice::new(b"345")];
    let result = calls.write(&slices, may_get_plain_call, |slices| {
        made.push(slices.len());
        match slices {
            [one] => {
                assert_eq!(&one[..], b"12345");
                plain.take().expect("one plain call")
            }
            _ => refuse(vectored),
        }
    });
    (result.map_err(|error| error.raw_os_error()), made)
}

#[test]
fn a_refusal_is_met_once_a_transfer_if_a_plain_call_then_moves_bytes() {
    for code in CODES {
        let calls = &mut ListCalls::default();
        for plain in [codes::EINVAL, codes::ENOSPC, codes::EAGAIN, codes::EINTR] {
            let (result, made) = two_slices(calls, true, code, refuse(plain));
            assert_eq!((result, &made[..]), (Err(Some(plain)), &[2, 1][..]));
        }
        for (bytes, expected) in [(0, &[2, 1][..]), (3, &[2, 1]), (5, &[1])] {
            let (result, made) = two_slices(calls, true, code, Ok(bytes));
            assert_eq!((result, &made[..]), (Ok(bytes), expected));
        }
    }
}

#[test]
fn sockets_direct_files_and_other_errors_get_no_second_call() {
    let others = [
        codes::EIO,
        codes::EFAULT,
        codes::EAGAIN,
        codes::EINTR,
        codes::ESPIPE,
    ];
    let refusals = CODES.map(|code| (false, code));
    for (may, code) in refusals.into_iter().chain(others.map(|code| (true, code))) {
        let (result, made) = two_slices(&mut ListCalls::default(), may, code, Ok(1));
        assert_eq!((result, &made[..]), (Err(Some(code)), &[2][..]));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn which_files_get_a_plain_call() {
    use rustix::event::{EventfdFlags, eventfd};
    use rustix::pipe::{PipeFlags, pipe_with};
    use std::os::fd::AsFd;

    let may = |fd: &dyn AsFd| fd.as_fd().may_get_plain_call();
    let (stream, _peer) = std::os::unix::net::UnixStream::pair().unwrap();
    let (_reader, plain) = pipe_with(PipeFlags::empty()).unwrap();
    let (_reader, direct) = pipe_with(PipeFlags::DIRECT).unwrap();
    assert!(may(&eventfd(0, EventfdFlags::empty()).unwrap()));
    assert!(may(&plain));
    assert!(!may(&direct));
    assert!(!may(&stream));
}

#[test]
fn no_more_is_read_than_the_buffer_holds_and_large_segments_are_read_directly() {
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
        let read = ListCalls::default().read(&mut slices, true, |slices| match slices {
            [one] => {
                is_direct = one.as_ptr() == first;
                one.fill(7);
                Ok(one.len())
            }
            _ => refuse(codes::EOPNOTSUPP),
        });
        assert_eq!((read.unwrap(), is_direct), (expected, sizes[0] >= most));
        let filled = buffers.concat();
        // Miri would take minutes to compare single bytes.
        assert!(filled[..expected] == vec![7; expected]);
        assert!(filled[expected..] == vec![0; filled.len() - expected]);
    }
}

#[test]
fn no_more_is_copied_than_the_buffer_holds_and_large_segments_are_not() {
    let most = MAX_STAGED_BYTES;
    for sizes in [
        [most - 1, 5, 1],
        [most, 5, 1],
        [most + 1, 5, 1],
        [3, most, 1],
        [1, 1, 3 * most],
    ] {
        let data = payload(&sizes);
        let is_large = sizes[0] >= most;
        let written = ListCalls::default().write(&list(&data), true, |slices| match slices {
            [one] => {
                assert!(one[..] == data.concat()[..one.len()]);
                assert_eq!(one.as_ptr() == data[0].as_ptr(), is_large);
                Ok(one.len())
            }
            _ => refuse(codes::EOPNOTSUPP),
        });
        assert_eq!(written.unwrap(), if is_large { sizes[0] } else { most });
    }
}
