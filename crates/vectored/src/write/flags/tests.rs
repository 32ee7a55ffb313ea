//! Flags that are taken, refused and left out.

use super::*;
use crate::sys::codes;
use crate::testing::{
    Answer, ScriptedSink, any_limits, any_script, any_sizes, check_against_model, list, payload,
};
use crate::transfer::support_cache::testing::identity;
use proptest::prelude::*;

const ALL: WriteFlags = WriteFlags(0x9e);

/// A kernel that refuses some flags, and counts how often it does.
struct Kernel {
    refuses: WriteFlags,
    code: i32,
    refusals: usize,
}

impl Kernel {
    fn call(
        &mut self,
        flags: WriteFlags,
        otherwise: impl FnOnce() -> io::Result<usize>,
    ) -> io::Result<usize> {
        if flags.common(self.refuses).is_empty() {
            return otherwise();
        }
        self.refusals += 1;
        Err(io::Error::from_raw_os_error(self.code))
    }
}

fn any_flags() -> impl Strategy<Value = WriteFlags> {
    (0..0x100_u32).prop_map(|bits| ALL.common(WriteFlags(bits)))
}

proptest! {
    #[test]
    fn any_list_arrives_whole_with_exactly_the_flags_that_are_taken(
        sizes in any_sizes(), script in any_script(), limits in any_limits(),
        asked in any_flags(), refuses in any_flags(),
        code in prop_oneof![Just(codes::EOPNOTSUPP), Just(codes::EINVAL), Just(codes::ENOSYS)],
    ) {
        // Another test covers `APPEND`, which cannot be left out.
        let refuses = refuses.without(WriteFlags::APPEND);
        let support = SupportCache::new();
        let mut kernel = Kernel { refuses, code, refusals: 0 };
        let mut is_proved = code != codes::EINVAL;
        check_against_model(&sizes, &script, limits, |segments, cursor, sink| {
            let mut calls = FlaggedCalls::new(asked, OnRefusal::Fallback, &support);
            let result = send_all_referenced(segments, cursor, limits, || Ok(()), |slices| {
                let result = calls.call(|| identity(1), |flags| kernel.call(flags, || {
                    assert_eq!(flags, asked.without(refuses));
                    sink.call(slices)
                }));
                is_proved |= result.is_ok();
                result
            });
            let mut synced = None;
            let transferred = result.as_ref().map_or_else(TransferError::transferred, |n| *n);
            let result = calls.finish(result, |flag| { synced = Some(flag); Ok(()) });
            let left_out = asked.common(refuses);
            let expected = match transferred {
                0 => None,
                _ if left_out.contains(WriteFlags::SYNC) => Some(WriteFlags::SYNC),
                _ if left_out.contains(WriteFlags::DSYNC) => Some(WriteFlags::DSYNC),
                _ => None,
            };
            assert_eq!(synced, expected);
            result
        });
        // The refusal is remembered: another transfer is not refused anything.
        if is_proved && sizes.iter().any(|&size| size > 0) {
            prop_assert_eq!(support.known(ALL.0, || identity(1)), asked.common(refuses).0);
            kernel.refusals = 0;
            let mut calls = FlaggedCalls::new(asked, OnRefusal::Fallback, &support);
            let result = calls.call(|| identity(1), |flags| kernel.call(flags, || Ok(1)));
            prop_assert_eq!((result.unwrap(), kernel.refusals), (1, 0));
        }
    }
}

fn one_call(
    asked: WriteFlags,
    on_refusal: OnRefusal,
    support: &SupportCache,
    device: u64,
    kernel: &mut Kernel,
) -> io::Result<usize> {
    let mut calls = FlaggedCalls::new(asked, on_refusal, support);
    calls.call(|| identity(device), |flags| kernel.call(flags, || Ok(1)))
}

#[test]
fn a_refusal_is_an_error_that_names_the_flag_where_the_caller_wants_one() {
    let support = SupportCache::new();
    for (flag, name) in WriteFlags::NAMES {
        let mut kernel = Kernel {
            refuses: flag,
            code: codes::EOPNOTSUPP,
            refusals: 0,
        };
        for _ in 0..3 {
            let result = one_call(flag, OnRefusal::Error, &support, 1, &mut kernel);
            let error = result.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            assert!(error.to_string().contains(name), "{error}");
        }
        assert_eq!(kernel.refusals, 1, "{name} was tried again");
        // Another file is asked anew.
        one_call(flag, OnRefusal::Error, &support, 2, &mut kernel).unwrap_err();
        assert_eq!(kernel.refusals, 2);
    }
}

#[test]
fn appending_has_no_fallback() {
    let support = SupportCache::new();
    for code in [codes::EOPNOTSUPP, codes::ENOSYS] {
        let mut kernel = Kernel {
            refuses: ALL,
            code,
            refusals: 0,
        };
        for asked in [WriteFlags::APPEND, WriteFlags::APPEND | WriteFlags::DSYNC] {
            let result = one_call(asked, OnRefusal::Fallback, &support, 1, &mut kernel);
            let error = result.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            assert!(error.to_string().contains("RWF_APPEND"), "{error}");
            assert!(error.to_string().contains("O_APPEND"), "{error}");
        }
    }
}

/// `EINVAL` is the answer to a misaligned `O_DIRECT` write, too, with flags or without.
#[test]
fn an_invalid_argument_that_no_flag_causes_is_passed_on_and_not_remembered() {
    let support = SupportCache::new();
    for on_refusal in [OnRefusal::Fallback, OnRefusal::Error] {
        let mut calls = FlaggedCalls::new(ALL, on_refusal, &support);
        let result = calls.call(
            || identity(1),
            |_| Err(io::Error::from_raw_os_error(codes::EINVAL)),
        );
        assert_eq!(result.unwrap_err().raw_os_error(), Some(codes::EINVAL));
    }
    assert_eq!(support.known(ALL.0, || identity(1)), 0);
}

/// The error of the second call may as well be the reason why that call was made at all.
#[test]
fn an_invalid_argument_is_no_refusal_if_the_call_without_the_flag_fails_as_well() {
    for code in [codes::EIO, codes::EAGAIN, codes::ENOSPC] {
        let support = SupportCache::new();
        let mut calls = FlaggedCalls::new(WriteFlags::DSYNC, OnRefusal::Fallback, &support);
        let result = calls.call(
            || identity(1),
            |flags| {
                let code = if flags.is_empty() { code } else { codes::EINVAL };
                Err(io::Error::from_raw_os_error(code))
            },
        );
        assert_eq!(result.unwrap_err().raw_os_error(), Some(code));
        assert_eq!(support.known(ALL.0, || identity(1)), 0);
    }
}

#[test]
fn a_failed_sync_is_an_error_with_the_bytes_that_were_written() {
    let support = SupportCache::new();
    support.learn(WriteFlags::DSYNC.0, || identity(1));
    let data = payload(&[3, 4]);
    let mut sink = ScriptedSink::new(vec![Answer::Take(5)], Limits::default());
    let mut calls = FlaggedCalls::new(WriteFlags::DSYNC, OnRefusal::Fallback, &support);
    let result = send_all_referenced(
        &list(&data),
        &mut SegmentCursor::new(),
        Limits::default(),
        || Ok(()),
        |slices| calls.call(|| identity(1), |_| sink.call(slices)),
    );
    let failure = |_| Err(io::Error::from_raw_os_error(codes::EIO));
    let error = calls.finish(result, failure).unwrap_err();
    assert_eq!(error.io_error().raw_os_error(), Some(codes::EIO));
    assert_eq!(error.transferred(), 7);
}

#[test]
fn the_kernels_numbers_are_those_of_uapi_linux_fs_h() {
    #[cfg(target_os = "linux")]
    for (flag, number) in [
        (WriteFlags::DSYNC, libc::RWF_DSYNC),
        (WriteFlags::SYNC, libc::RWF_SYNC),
        (WriteFlags::NOWAIT, libc::RWF_NOWAIT),
        (WriteFlags::APPEND, libc::RWF_APPEND),
    ] {
        assert_eq!(flag.0, number as u32, "{flag:?}");
    }
    assert_eq!(format!("{:?}", WriteFlags::empty()), "0");
    assert_eq!(ALL.subsets().len(), 31);
}
