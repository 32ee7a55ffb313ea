//! Flags that are taken, refused and left out.

use super::*;
use crate::sys::codes;
use crate::testing::{any_limits, any_script, any_sizes, check_against_model};
use proptest::prelude::*;

const ALL: WriteFlags = WriteFlags(0x9e);

/// A kernel that refuses some flags, and counts how often it does.
struct Kernel {
    refuses: WriteFlags,
    code: i32,
}

impl Kernel {
    fn call(
        &self,
        flags: WriteFlags,
        otherwise: impl FnOnce() -> io::Result<usize>,
    ) -> io::Result<usize> {
        if flags.common(self.refuses).is_empty() {
            return otherwise();
        }
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
        let kernel = Kernel { refuses, code };
        check_against_model(&sizes, &script, limits, |segments, cursor, sink| {
            let mut calls = FlaggedCalls::new(asked, OnRefusal::Fallback);
            let result = send_all_referenced(segments, cursor, limits, || Ok(()), |slices| {
                calls.call(|flags| kernel.call(flags, || {
                    assert_eq!(flags, asked.without(refuses));
                    sink.call(slices)
                }))
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
    }
}

fn one_call(asked: WriteFlags, on_refusal: OnRefusal, kernel: &Kernel) -> io::Result<usize> {
    FlaggedCalls::new(asked, on_refusal).call(|flags| kernel.call(flags, || Ok(1)))
}

#[test]
fn a_refusal_is_an_error_that_names_the_flag_where_the_caller_wants_one() {
    for (refuses, name) in WriteFlags::NAMES {
        let code = codes::EOPNOTSUPP;
        let kernel = Kernel { refuses, code };
        let error = one_call(refuses, OnRefusal::Error, &kernel).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(error.to_string().contains(name), "{error}");
        assert!(!error.to_string().contains("one of"), "{error}");
        let error = one_call(ALL, OnRefusal::Error, &kernel).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("one of RWF_DONTCACHE | RWF_NOWAIT"),
            "{error}"
        );
    }
}

#[test]
fn a_refused_flag_is_met_once_a_transfer() {
    let code = codes::EOPNOTSUPP;
    let kernel = Kernel {
        refuses: WriteFlags::DSYNC,
        code,
    };
    let mut calls = FlaggedCalls::new(ALL, OnRefusal::Fallback);
    for expected in [4, 1, 1] {
        let mut made = 0;
        let count = |flags| {
            made += 1;
            kernel.call(flags, || Ok(1))
        };
        calls.call(count).unwrap();
        assert_eq!(made, expected);
    }
}

#[test]
fn appending_has_no_fallback() {
    for code in [codes::EOPNOTSUPP, codes::ENOSYS] {
        let kernel = Kernel { refuses: ALL, code };
        for asked in [WriteFlags::APPEND, WriteFlags::APPEND | WriteFlags::DSYNC] {
            let error = one_call(asked, OnRefusal::Fallback, &kernel).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            assert!(error.to_string().contains("RWF_APPEND"), "{error}");
            assert!(error.to_string().contains("O_APPEND"), "{error}");
        }
    }
}

/// `EINVAL` is the answer to a misaligned `O_DIRECT` write, with flags or without.
#[test]
fn an_invalid_argument_that_no_flag_causes_is_passed_on() {
    for on_refusal in [OnRefusal::Fallback, OnRefusal::Error] {
        let invalid = |_| Err(io::Error::from_raw_os_error(codes::EINVAL));
        let result = FlaggedCalls::new(ALL, on_refusal).call(invalid);
        assert_eq!(result.unwrap_err().raw_os_error(), Some(codes::EINVAL));
    }
}

/// The first call may have failed for the same reason as the second, and not for its flag.
#[test]
fn an_invalid_argument_is_no_refusal_if_the_call_without_the_flag_fails_as_well() {
    for code in [codes::EIO, codes::EAGAIN, codes::ENOSPC] {
        let mut calls = FlaggedCalls::new(WriteFlags::DSYNC, OnRefusal::Fallback);
        let result = calls.call(|flags| {
            let code = if flags.is_empty() { code } else { codes::EINVAL };
            Err(io::Error::from_raw_os_error(code))
        });
        assert_eq!(result.unwrap_err().raw_os_error(), Some(code));
        assert_eq!(calls.flags, WriteFlags::DSYNC);
    }
}

#[test]
fn a_failed_sync_is_an_error_with_the_bytes_that_were_written() {
    let mut calls = FlaggedCalls::new(WriteFlags::DSYNC, OnRefusal::Fallback);
    calls.flags = WriteFlags::empty();
    let failure = |_| Err(io::Error::from_raw_os_error(codes::EIO));
    let error = calls.finish(Ok(7), failure).unwrap_err();
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
